import type { MessageToSend } from '../db/queue-store.ts';
import { invalidParameter, missingParameter, SqsError } from '../sqs/errors.ts';
import { isWithin, limits } from '../sqs/limits.ts';
import {
  attributesMd5,
  attributesSizeBytes,
  type MessageAttributes,
  requireMessageAttributes,
  requireTraceHeader,
  textMd5,
} from '../sqs/message-attributes.ts';
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
export interface ValidMessage {
  message: MessageToSend;
  checksums: {
    MD5OfMessageBody: string;
    MD5OfMessageAttributes?: string;
    MD5OfMessageSystemAttributes?: string;
  };
}

/** Bytes that count against size limits: body, attribute names, types and values. */
export function messageSizeBytes(input: MessageInput): number {
  let size = Buffer.byteLength(input.MessageBody ?? '');
  for (const [name, value] of Object.entries(input.MessageAttributes ?? {})) {
    size += attributesSizeBytes({
      [name]: { DataType: '', ...value } as MessageAttributes[string],
    });
  }
  return size;
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

const wrongQueueType = 'The request include parameter that is not valid for this queue type.';

/**
 * Validates a message for a standard queue.
 *
 * @throws {SqsError} MissingParameter, InvalidMessageContents, InvalidParameterValue,
 * UnsupportedOperation
 */
export function requireMessage(
  context: RequestContext,
  input: MessageInput,
  emptyBody: SqsError = missingParameter('MessageBody'),
): ValidMessage {
  const { MessageBody: body, DelaySeconds: delaySeconds, MessageGroupId: groupId } = input;
  if (!body) {
    throw emptyBody;
  }
  if (!hasOnlyXmlCharacters(body)) {
    throw new SqsError(
      'InvalidMessageContents',
      'Invalid binary character was found in the message body, the set of allowed characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.',
    );
  }
  if (delaySeconds !== undefined && !isWithin(delaySeconds, limits.delaySeconds)) {
    throw invalidParameter(
      delaySeconds,
      'DelaySeconds',
      `DelaySeconds must be >= ${limits.delaySeconds.minimum} and <= ${limits.delaySeconds.maximum}.`,
    );
  }
  if (input.MessageDeduplicationId !== undefined) {
    throw invalidParameter(input.MessageDeduplicationId, 'MessageDeduplicationId', wrongQueueType);
  }
  if (groupId !== undefined && !isMessageIdentifier(groupId)) {
    throw invalidParameter(
      groupId,
      'MessageGroupId',
      'MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.',
    );
  }
  const attributes = requireMessageAttributes(input.MessageAttributes);
  const givenTraceHeader = requireTraceHeader(input.MessageSystemAttributes);
  return {
    message: {
      body,
      sizeBytes: Buffer.byteLength(body) + attributesSizeBytes(attributes),
      delaySeconds,
      attributes,
      traceHeader: givenTraceHeader ?? context.traceHeader,
      groupId,
      senderId: context.senderId,
    },
    checksums: {
      MD5OfMessageBody: textMd5(body),
      ...(attributes && { MD5OfMessageAttributes: attributesMd5(attributes) }),
      ...(givenTraceHeader !== undefined && {
        MD5OfMessageSystemAttributes: attributesMd5({
          AWSTraceHeader: { DataType: 'String', StringValue: givenTraceHeader },
        }),
      }),
    },
  };
}
