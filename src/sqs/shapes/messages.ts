import { blob, flag, integer, list, map, type Static, structure, text } from './schema.ts';

const messageAttributeValue = structure({
  StringValue: text(),
  BinaryValue: blob(),
  StringListValues: list('StringListValue', text()),
  BinaryListValues: list('BinaryListValue', blob()),
  DataType: text(),
});
export type MessageAttributeValue = Static<typeof messageAttributeValue>;

const sendMembers = {
  MessageBody: text(),
  DelaySeconds: integer(),
  MessageAttributes: map('MessageAttribute', messageAttributeValue),
  MessageSystemAttributes: map('MessageSystemAttribute', messageAttributeValue),
  MessageDeduplicationId: text(),
  MessageGroupId: text(),
};

const sendMessageBatchEntry = structure({ Id: text(), ...sendMembers });
export type SendMessageBatchEntry = Static<typeof sendMessageBatchEntry>;

const sentMembers = {
  MD5OfMessageBody: text(),
  MD5OfMessageAttributes: text(),
  MD5OfMessageSystemAttributes: text(),
  MessageId: text(),
  SequenceNumber: text(),
};

const batchError = structure({ Id: text(), Code: text(), Message: text(), SenderFault: flag() });
export type BatchError = Static<typeof batchError>;

const failed = list('BatchResultErrorEntry', batchError);

const message = structure({
  MessageId: text(),
  ReceiptHandle: text(),
  MD5OfBody: text(),
  Body: text(),
  Attributes: map('Attribute', text()),
  MD5OfMessageAttributes: text(),
  MessageAttributes: map('MessageAttribute', messageAttributeValue),
});
export type Message = Static<typeof message>;

export const sendMessage = {
  input: structure({ QueueUrl: text(), ...sendMembers }),
  output: structure(sentMembers),
};

export const sendMessageBatch = {
  input: structure({
    QueueUrl: text(),
    Entries: list('SendMessageBatchRequestEntry', sendMessageBatchEntry),
  }),
  output: structure({
    Successful: list('SendMessageBatchResultEntry', structure({ Id: text(), ...sentMembers })),
    Failed: failed,
  }),
};

export const receiveMessage = {
  input: structure({
    QueueUrl: text(),
    AttributeNames: list('AttributeName', text()),
    // Recorded from AWS: JSON takes both together, Query the former name alone.
    MessageSystemAttributeNames: list('MessageSystemAttributeName', text(), {
      yieldsTo: 'AttributeNames',
    }),
    MessageAttributeNames: list('MessageAttributeName', text()),
    MaxNumberOfMessages: integer(),
    VisibilityTimeout: integer(),
    WaitTimeSeconds: integer(),
    ReceiveRequestAttemptId: text(),
  }),
  output: structure({ Messages: list('Message', message) }),
};

export const deleteMessage = {
  input: structure({ QueueUrl: text(), ReceiptHandle: text() }),
  output: structure({}),
};

export const deleteMessageBatch = {
  input: structure({
    QueueUrl: text(),
    Entries: list(
      'DeleteMessageBatchRequestEntry',
      structure({ Id: text(), ReceiptHandle: text() }),
    ),
  }),
  output: structure({
    Successful: list('DeleteMessageBatchResultEntry', structure({ Id: text() })),
    Failed: failed,
  }),
};

export const changeMessageVisibility = {
  input: structure({ QueueUrl: text(), ReceiptHandle: text(), VisibilityTimeout: integer() }),
  output: structure({}),
};

export const changeMessageVisibilityBatch = {
  input: structure({
    QueueUrl: text(),
    Entries: list(
      'ChangeMessageVisibilityBatchRequestEntry',
      structure({ Id: text(), ReceiptHandle: text(), VisibilityTimeout: integer() }),
    ),
  }),
  output: structure({
    Successful: list('ChangeMessageVisibilityBatchResultEntry', structure({ Id: text() })),
    Failed: failed,
  }),
};
