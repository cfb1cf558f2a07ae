import type { FifoMessageToSend, MessageToSend } from '../db/message-store.ts';
import { invalidParameter, missingParameter, SqsError } from '../sqs/errors.ts';
import { isWithin, limits } from '../sqs/limits.ts';
import { requireMessageAttributes, requireTraceHeader } from '../sqs/message-attribute-checks.ts';
import { attributesMd5, attributesSizeBytes, textMd5 } from '../sqs/message-attributes.ts';
import type { MessageAttributeValue } from '../sqs/shapes/messages.ts';
import { hasOnlyXmlCharacters, isMessageIdentifier } from '../sqs/text.ts';
import type { RequestContext } from './operation.ts';

/** What SendMessage and an entry of SendMessageBatch have in common. */
export interface MessageInput {
  MessageBody?: string;
  DelaySeconds?: number;
  MessageAttributes?: Record<string, MessageAttributeValue>;
  MessageSystemAttributes?: Record<string, MessageAttributeValue>;
  MessageDeduplicationId?: string;
  MessageGroupId?: string;
}

/** A message that passed validation, and the checksums that its sender gets. */
export interface ValidMessage<Message> {
  message: Message;
  checksums: {
    MD5OfMessageBody: string;
    MD5OfMessageAttributes?: string;
    MD5OfMessageSystemAttributes?: string;
  };
}

/** Bytes that count against the limit of a batch: body, attribute names, types and values. */
export function inputSizeBytes({ MessageBody = '', MessageAttributes = {} }: MessageInput): number {
  const attributes = Object.entries(MessageAttributes).map(
    ([name, { DataType = '', StringValue = '', BinaryValue = '' }]) =>
      attributesSizeBytes({ [name]: { DataType, StringValue, BinaryValue } }),
  );
  return attributes.reduce((total, size) => total + size, Buffer.byteLength(MessageBody));
}

export function messageTooLong(maximumBytes: number, isBatchEntry = false): SqsError {
  const opening = isBatchEntry
    ? 'One or more parameters cannot be validated.'
    : 'One or more parameters are invalid.';
  return new SqsError(
    'InvalidParameterValue',
    `${opening} Reason: Message must be shorter than ${maximumBytes} bytes.`,
  );
}

export function missingDeduplicationId(): SqsError {
  return new SqsError(
    'InvalidParameterValue',
    'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  );
}

function notForThisQueueType(value: unknown, name: string): SqsError {
  return invalidParameter(
    value,
    name,
    'The request include parameter that is not valid for this queue type.',
  );
}

function requireIdentifier(value: string, name: string): void {
  if (!isMessageIdentifier(value)) {
    throw invalidParameter(
      value,
      name,
      `${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
    );
  }
}

function missingBody(): SqsError {
  return missingParameter('MessageBody');
}

function requireBody(body: string | undefined, emptyBody: () => SqsError): string {
  if (!body) {
    throw emptyBody();
  }
  if (!hasOnlyXmlCharacters(body)) {
    throw new SqsError(
      'InvalidMessageContents',
      'Invalid binary character was found in the message body, the set of allowed characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.',
    );
  }
  return body;
}

/** The parts that messages of both queue types have. */
function requireContent(context: RequestContext, input: MessageInput, body: string) {
  const attributes = requireMessageAttributes(input.MessageAttributes);
  const traceHeader = requireTraceHeader(input.MessageSystemAttributes);
  return {
    content: {
      body,
      sizeBytes: Buffer.byteLength(body) + attributesSizeBytes(attributes),
      attributes,
      traceHeader: traceHeader ?? context.traceHeader,
      senderId: context.senderId,
    },
    checksums: {
      MD5OfMessageBody: textMd5(body),
      ...(attributes && { MD5OfMessageAttributes: attributesMd5(attributes) }),
      ...(traceHeader !== undefined && {
        MD5OfMessageSystemAttributes: attributesMd5({
          AWSTraceHeader: { DataType: 'String', StringValue: traceHeader },
        }),
      }),
    },
  };
}

/**
 * Validates a message for a standard queue.
 *
 * @throws {SqsError} MissingParameter, InvalidMessageContents, InvalidParameterValue,
 * UnsupportedOperation
 */
export function requireMessage(
  context: RequestContext,
  input: MessageInput,
  emptyBody: () => SqsError = missingBody,
): ValidMessage<MessageToSend> {
  const { DelaySeconds: delaySeconds, MessageGroupId: groupId, MessageDeduplicationId } = input;
  const body = requireBody(input.MessageBody, emptyBody);
  if (delaySeconds !== undefined && !isWithin(delaySeconds, limits.delaySeconds)) {
    throw invalidParameter(
      delaySeconds,
      'DelaySeconds',
      `DelaySeconds must be >= ${limits.delaySeconds.minimum} and <= ${limits.delaySeconds.maximum}.`,
    );
  }
  if (MessageDeduplicationId !== undefined) {
    throw notForThisQueueType(MessageDeduplicationId, 'MessageDeduplicationId');
  }
  if (groupId !== undefined) {
    requireIdentifier(groupId, 'MessageGroupId');
  }
  const { content, checksums } = requireContent(context, input, body);
  return { message: { ...content, delaySeconds, groupId }, checksums };
}

/**
 * Validates a message for a FIFO queue, but for its deduplication id: whether it needs one is the queue's
 * to say.
 *
 * @throws {SqsError} MissingParameter, InvalidMessageContents, InvalidParameterValue,
 * UnsupportedOperation
 */
export function requireFifoMessage(
  context: RequestContext,
  input: MessageInput,
  emptyBody: () => SqsError = missingBody,
): ValidMessage<FifoMessageToSend> {
  const { DelaySeconds, MessageGroupId: groupId, MessageDeduplicationId: deduplicationId } = input;
  const body = requireBody(input.MessageBody, emptyBody);
  if (groupId === undefined) {
    throw missingParameter('MessageGroupId');
  }
  requireIdentifier(groupId, 'MessageGroupId');
  if (deduplicationId !== undefined) {
    requireIdentifier(deduplicationId, 'MessageDeduplicationId');
  }
  // Zero is let through, and means the queue's delay like none at all.
  if (DelaySeconds) {
    throw notForThisQueueType(DelaySeconds, 'DelaySeconds');
  }
  const { content, checksums } = requireContent(context, input, body);
  return { message: { ...content, groupId, deduplicationId }, checksums };
}
