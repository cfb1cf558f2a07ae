/** Attributes that can be set. Names and values are those of SQS. */
export interface SettableQueueAttributes {
  /** Seconds, 0 to 43 200. */
  VisibilityTimeout?: number;
  /** Seconds, 0 to 900. */
  DelaySeconds?: number;
  /** Bytes, 1 024 to 1 048 576. */
  MaximumMessageSize?: number;
  /** Seconds, 60 to 1 209 600. */
  MessageRetentionPeriod?: number;
  /** Seconds, 0 to 20: what a receive over HTTP waits if it does not say. */
  ReceiveMessageWaitTimeSeconds?: number;
  RedrivePolicy?: { deadLetterTargetArn: string; maxReceiveCount: number } | '';
  RedriveAllowPolicy?:
    | {
        redrivePermission: 'allowAll' | 'denyAll' | 'byQueue';
        sourceQueueArns?: readonly string[];
      }
    | '';
  /** A policy document in JSON. */
  Policy?: string;
  ContentBasedDeduplication?: boolean;
  DeduplicationScope?: 'queue' | 'messageGroup';
  FifoThroughputLimit?: 'perQueue' | 'perMessageGroupId';
  SqsManagedSseEnabled?: boolean;
  KmsMasterKeyId?: string;
  KmsDataKeyReusePeriodSeconds?: number;
}

/** Attributes of a new queue. A FIFO queue's name ends with `.fifo`. */
export interface NewQueueAttributes extends SettableQueueAttributes {
  FifoQueue?: boolean;
}

/** All attributes of a queue, as the texts that SQS answers; those without a value are absent. */
export type QueueAttributes = Partial<
  Record<
    | keyof NewQueueAttributes
    | 'QueueArn'
    | 'CreatedTimestamp'
    | 'LastModifiedTimestamp'
    | 'ApproximateNumberOfMessages'
    | 'ApproximateNumberOfMessagesNotVisible'
    | 'ApproximateNumberOfMessagesDelayed',
    string
  >
>;

/** As the database takes them: objects as the JSON texts that SQS makes of them. */
export function toAttributesJson(attributes: NewQueueAttributes): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [
        name,
        typeof value === 'object' ? JSON.stringify(value) : value,
      ]),
    ),
  );
}
