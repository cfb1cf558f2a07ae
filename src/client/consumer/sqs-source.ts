import { limits } from '../../sqs/limits.ts';
import type { Message } from '../message.ts';
import type { MessageAttributeValues } from '../message-attributes.ts';
import type { MessageSource, ReceiveRequest, VisibilityRequest } from './source.ts';

interface SqsMessage {
  MessageId?: string | undefined;
  ReceiptHandle?: string | undefined;
  Body?: string | undefined;
  MD5OfBody?: string | undefined;
  Attributes?: Partial<Record<string, string>> | undefined;
  MessageAttributes?:
    | Record<
        string,
        {
          DataType: string | undefined;
          StringValue?: string | undefined;
          BinaryValue?: Uint8Array | undefined;
        }
      >
    | undefined;
}

interface FailedEntry {
  Id: string | undefined;
  Code: string | undefined;
  SenderFault: boolean | undefined;
  Message?: string | undefined;
}

interface BatchAnswer {
  Failed?: FailedEntry[] | undefined;
}

/** What is used of the class `SQS` of the AWS SDK. */
export interface SqsClient {
  receiveMessage(
    input: {
      QueueUrl: string;
      MaxNumberOfMessages: number;
      VisibilityTimeout: number;
      WaitTimeSeconds: number;
      MessageSystemAttributeNames: ['All'];
      MessageAttributeNames: ['All'];
    },
    options: { abortSignal: AbortSignal },
  ): Promise<{ Messages?: SqsMessage[] | undefined }>;
  deleteMessageBatch(input: {
    QueueUrl: string;
    Entries: { Id: string; ReceiptHandle: string }[];
  }): Promise<BatchAnswer>;
  changeMessageVisibilityBatch(input: {
    QueueUrl: string;
    Entries: { Id: string; ReceiptHandle: string; VisibilityTimeout: number }[];
  }): Promise<BatchAnswer>;
}

/** A queue over HTTP: of a Trunkline server, or of Amazon SQS. */
export class SqsSource implements MessageSource {
  readonly receiveLimit = limits.receiveMaxMessages.maximum;
  readonly #client: SqsClient;
  readonly #queueUrl: string;

  /** @param client an `SQS` of the package `@aws-sdk/client-sqs`, the caller's to destroy */
  constructor(client: SqsClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async receive(request: ReceiveRequest): Promise<Message[]> {
    try {
      const { Messages = [] } = await this.#client.receiveMessage(
        {
          QueueUrl: this.#queueUrl,
          MaxNumberOfMessages: request.maxNumberOfMessages,
          VisibilityTimeout: request.visibilityTimeout,
          WaitTimeSeconds: request.waitTimeSeconds,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
        },
        { abortSignal: request.signal },
      );
      return Messages.map(toMessage);
    } catch (error) {
      if (request.signal.aborted) {
        return [];
      }
      throw error;
    }
  }

  async delete(messages: readonly Message[]): Promise<boolean[]> {
    return await inBatches(messages, (batch) =>
      this.#client.deleteMessageBatch({
        QueueUrl: this.#queueUrl,
        Entries: batch.map(({ receiptHandle }, index) => ({
          Id: String(index),
          ReceiptHandle: receiptHandle,
        })),
      }),
    );
  }

  async changeVisibility(changes: readonly VisibilityRequest[]): Promise<boolean[]> {
    return await inBatches(changes, (batch) =>
      this.#client.changeMessageVisibilityBatch({
        QueueUrl: this.#queueUrl,
        Entries: batch.map(({ message, visibilityTimeout }, index) => ({
          Id: String(index),
          ReceiptHandle: message.receiptHandle,
          VisibilityTimeout: visibilityTimeout,
        })),
      }),
    );
  }
}

async function inBatches<Item>(
  items: readonly Item[],
  send: (batch: readonly Item[]) => Promise<BatchAnswer>,
): Promise<boolean[]> {
  const outcomes: boolean[] = [];
  for (let first = 0; first < items.length; first += limits.batchEntries) {
    const batch = items.slice(first, first + limits.batchEntries);
    const { Failed = [] } = await send(batch);
    const outage = Failed.find(({ SenderFault }) => SenderFault !== true);
    if (outage !== undefined) {
      throw new Error(`SQS could not do a part of the batch: ${outage.Code} ${outage.Message}`);
    }
    const failed = new Set(Failed.map(({ Id }) => Id));
    outcomes.push(...batch.map((_, index) => !failed.has(String(index))));
  }
  return outcomes;
}

function toMessage(message: SqsMessage): Message {
  const system = message.Attributes ?? {};
  const time = (name: string) => new Date(Number(system[name] ?? 0));
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    md5OfBody: message.MD5OfBody ?? '',
    messageAttributes: toAttributes(message),
    receiveCount: Number(system['ApproximateReceiveCount'] ?? 1),
    sentAt: time('SentTimestamp'),
    firstReceivedAt: time('ApproximateFirstReceiveTimestamp'),
    senderId: system['SenderId'],
    messageGroupId: system['MessageGroupId'],
    messageDeduplicationId: system['MessageDeduplicationId'],
    sequenceNumber: system['SequenceNumber'],
    traceHeader: system['AWSTraceHeader'],
    deadLetterQueueSourceArn: system['DeadLetterQueueSourceArn'],
  };
}

function toAttributes({ MessageAttributes = {} }: SqsMessage): MessageAttributeValues {
  return Object.fromEntries(
    Object.entries(MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      {
        dataType: DataType ?? 'String',
        ...(StringValue !== undefined && { stringValue: StringValue }),
        ...(BinaryValue !== undefined && { binaryValue: BinaryValue }),
      },
    ]),
  );
}
