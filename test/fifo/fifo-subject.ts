import { randomUUID } from 'node:crypto';
import type {
  Message,
  ReceiveMessageCommandInput,
  SendMessageBatchCommandOutput,
  SendMessageCommandOutput,
} from '@aws-sdk/client-sqs';
import { present, queueName, type Subject } from '../behaviour/both-protocols.ts';

/** A new FIFO queue's URL. */
export function createFifoQueue(
  sqs: Subject,
  attributes: Record<string, string> = {},
): Promise<string> {
  return sqs.createQueue({ FifoQueue: 'true', ...attributes }, `${randomUUID()}.fifo`);
}

/** Sends a message of a group, by default with its body as the deduplication id. */
export function post(
  sqs: Subject,
  QueueUrl: string,
  group: string,
  body: string,
  deduplicationId: string | undefined = body,
): Promise<SendMessageCommandOutput> {
  return sqs.client.sendMessage({
    QueueUrl,
    MessageBody: body,
    MessageGroupId: group,
    ...(deduplicationId !== '' && { MessageDeduplicationId: deduplicationId }),
  });
}

/** Sends messages named by group and body, as in `g1-m1`, one after the other or in one batch. */
export async function postAll(sqs: Subject, queueUrl: string, names: readonly string[]) {
  for (const name of names) {
    await post(sqs, queueUrl, present(name.split('-')[0]), name);
  }
}

export function postBatch(
  sqs: Subject,
  QueueUrl: string,
  names: readonly string[],
): Promise<SendMessageBatchCommandOutput> {
  return sqs.client.sendMessageBatch({
    QueueUrl,
    Entries: names.map((name, index) => ({
      Id: `entry-${index}`,
      MessageBody: name,
      MessageGroupId: present(name.split('-')[0]),
      MessageDeduplicationId: name,
    })),
  });
}

export type Received = Message & { ReceiptHandle: string; Body: string };

/** Receives up to ten messages. */
export async function take(
  sqs: Subject,
  queueUrl: string,
  options: Partial<ReceiveMessageCommandInput> = {},
): Promise<Received[]> {
  const received = await sqs.receive(queueUrl, { MaxNumberOfMessages: 10, ...options });
  return received.map((message) => ({
    ...message,
    ReceiptHandle: present(message.ReceiptHandle),
    Body: present(message.Body),
  }));
}

export function bodies(received: readonly Message[]): string[] {
  return received.map(({ Body }) => present(Body));
}

/** Makes the five minutes of all deduplication ids and receive attempts of a queue pass. */
export async function passFiveMinutes(sqs: Subject, queueUrl: string): Promise<void> {
  for (const table of ['deduplications', 'receive_attempts']) {
    await sqs.database.pool.query(
      `update trunkline.${table} as known
      set expires_at = expires_at - interval '5 minutes'
      from trunkline.queues as queue
      where queue.id = known.queue_id and queue.name = $1`,
      [queueName(queueUrl)],
    );
  }
}
