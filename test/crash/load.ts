import { setTimeout as sleep } from 'node:timers/promises';
import { SQSServiceException } from '@aws-sdk/client-sqs';
import { jsonClient } from '../support/clients.ts';

/** Longer than the server takes for its last word. A connection of a process that was killed may be silent for good. */
const answerLimitMs = 15_000;

/** Many clients that send as fast as they are answered, and note what the server acknowledged. */
export class Load {
  /** Bodies of acknowledged messages. */
  readonly acknowledged: string[] = [];
  /** Statuses of the server's error answers. */
  readonly refusals: number[] = [];
  /** Requests that got no answer, such as those of a server that was killed. */
  unanswered = 0;
  longestMs = 0;
  #isStopping = false;
  readonly #clients: Promise<void>[];

  constructor(endpoint: string, queueUrl: string, clientCount = 16) {
    this.#clients = Array.from({ length: clientCount }, (_, client) =>
      this.#send(endpoint, queueUrl, client),
    );
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#clients);
  }

  /** Waits until this many more messages were acknowledged. */
  async progress(count: number, limitMs = 20_000): Promise<void> {
    const target = this.acknowledged.length + count;
    const deadlineMs = performance.now() + limitMs;
    while (this.acknowledged.length < target) {
      if (performance.now() > deadlineMs) {
        throw new Error(
          `Only ${this.acknowledged.length} of ${target} messages were acknowledged in time; refused: ${this.refusals.length}, unanswered: ${this.unanswered}.`,
        );
      }
      await sleep(10);
    }
  }

  async #send(endpoint: string, queueUrl: string, client: number): Promise<void> {
    const sqs = jsonClient(endpoint);
    for (let round = 1; !this.#isStopping; round += 1) {
      const body = `${client}-${round}-${this.acknowledged.length}`;
      const startedAt = performance.now();
      try {
        await sqs.sendMessage(
          { QueueUrl: queueUrl, MessageBody: body },
          { abortSignal: AbortSignal.timeout(answerLimitMs) },
        );
        this.acknowledged.push(body);
      } catch (error) {
        const status = error instanceof SQSServiceException && error.$metadata.httpStatusCode;
        if (status) {
          this.refusals.push(status);
        } else {
          this.unanswered += 1;
        }
        // As an SDK does before it tries again.
        await sleep(20);
      }
      this.longestMs = Math.max(this.longestMs, performance.now() - startedAt);
    }
    sqs.destroy();
  }
}

/** Receives and deletes until the queue is empty; answers the bodies. */
export async function drain(endpoint: string, queueUrl: string): Promise<string[]> {
  const sqs = jsonClient(endpoint);
  const bodies: string[] = [];
  async function consume(): Promise<void> {
    for (;;) {
      const { Messages = [] } = await sqs.receiveMessage({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 600,
      });
      if (Messages.length === 0) {
        return;
      }
      bodies.push(...Messages.map(({ Body }) => Body ?? ''));
      await sqs.deleteMessageBatch({
        QueueUrl: queueUrl,
        Entries: Messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle })),
      });
    }
  }
  await Promise.all(Array.from({ length: 8 }, consume));
  sqs.destroy();
  return bodies;
}

/** Those of the acknowledged messages that are not there. */
export function missingFrom(stored: readonly string[], acknowledged: readonly string[]): string[] {
  const all = new Set(stored);
  return acknowledged.filter((body) => !all.has(body));
}
