import type { MessageAttributeValues } from './message-attributes.ts';
import type { NewQueueAttributes, SettableQueueAttributes } from './queue-attributes.ts';

/** What the methods of Trunkline take. Names are those of SQS; times are in seconds, as there. */

export interface QueueRequest {
  queueName: string;
}

export interface MessageToSend {
  messageBody: string;
  /** 0 to 900; the queue's DelaySeconds if not given. Not for FIFO queues. */
  delaySeconds?: number | undefined;
  messageAttributes?: MessageAttributeValues | undefined;
  /** Required on FIFO queues. */
  messageGroupId?: string | undefined;
  messageDeduplicationId?: string | undefined;
  /** AWSTraceHeader. */
  traceHeader?: string | undefined;
}

export interface SendMessageRequest extends QueueRequest, MessageToSend {}

export interface SendMessageBatchRequest extends QueueRequest {
  /** Any number. All are sent, or none. */
  entries: readonly MessageToSend[];
}

export interface SentMessage {
  messageId: string;
  md5OfMessageBody: string;
  md5OfMessageAttributes: string | undefined;
  /** On FIFO queues. */
  sequenceNumber: string | undefined;
}

export interface ReceiveMessagesRequest extends QueueRequest {
  /** 1 to 1 000; 1 if not given. */
  maxNumberOfMessages?: number | undefined;
  /** 0 to 43 200; the queue's VisibilityTimeout if not given. */
  visibilityTimeout?: number | undefined;
  /** How long to wait for a message, 0 to 20; 0 if not given. Takes no part in a transaction. */
  waitTimeSeconds?: number | undefined;
  /** Ends the wait: what was received by then is returned. */
  signal?: AbortSignal | undefined;
  receiveRequestAttemptId?: string | undefined;
}

export interface ReceiptRequest extends QueueRequest {
  receiptHandle: string;
}

export interface DeleteMessageBatchRequest extends QueueRequest {
  receiptHandles: readonly string[];
}

export interface VisibilityChange {
  receiptHandle: string;
  /** 0 to 43 200, counted from now; 0 makes the message visible at once. */
  visibilityTimeout: number;
}

export interface ChangeMessageVisibilityRequest extends QueueRequest, VisibilityChange {}

export interface ChangeMessageVisibilityBatchRequest extends QueueRequest {
  entries: readonly VisibilityChange[];
}

export interface CreateQueueRequest extends QueueRequest {
  attributes?: NewQueueAttributes | undefined;
  tags?: Readonly<Record<string, string>> | undefined;
}

export interface SetQueueAttributesRequest extends QueueRequest {
  attributes: SettableQueueAttributes;
}

export interface ListQueuesRequest {
  queueNamePrefix?: string | undefined;
}
