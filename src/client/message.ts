import {
  fromStoredAttributes,
  type MessageAttributeValues,
  type StoredAttributes,
} from './message-attributes.ts';

/** A received message. The names are those of SQS and of the columns of `trunkline.receive_message`. */
export interface Message {
  messageId: string;
  /** Stands for this receive of the message; deletes it and changes its visibility. */
  receiptHandle: string;
  body: string;
  md5OfBody: string;
  messageAttributes: MessageAttributeValues;
  /** How often the message was received, this time included. */
  receiveCount: number;
  sentAt: Date;
  firstReceivedAt: Date;
  senderId: string | undefined;
  messageGroupId: string | undefined;
  messageDeduplicationId: string | undefined;
  /** On FIFO queues only; 20 digits, so that they sort as texts. */
  sequenceNumber: string | undefined;
  traceHeader: string | undefined;
  deadLetterQueueSourceArn: string | undefined;
}

/** A row of `trunkline.receive_message` in JSON. */
export interface ReceivedRow {
  message_id: string;
  receipt_handle: string;
  body: string;
  md5_of_body: string;
  message_attributes: StoredAttributes | null;
  receive_count: number;
  sent_at: string;
  first_received_at: string;
  sender_id: string | null;
  message_group_id: string | null;
  message_deduplication_id: string | null;
  sequence_number: string | null;
  trace_header: string | null;
  dead_letter_queue_source_arn: string | null;
}

export function toMessage(row: ReceivedRow): Message {
  return {
    messageId: row.message_id,
    receiptHandle: row.receipt_handle,
    body: row.body,
    md5OfBody: row.md5_of_body,
    messageAttributes: fromStoredAttributes(row.message_attributes),
    receiveCount: row.receive_count,
    sentAt: new Date(row.sent_at),
    firstReceivedAt: new Date(row.first_received_at),
    senderId: row.sender_id ?? undefined,
    messageGroupId: row.message_group_id ?? undefined,
    messageDeduplicationId: row.message_deduplication_id ?? undefined,
    sequenceNumber: row.sequence_number ?? undefined,
    traceHeader: row.trace_header ?? undefined,
    deadLetterQueueSourceArn: row.dead_letter_queue_source_arn ?? undefined,
  };
}
