import { hasOnlyXmlCharacters } from '../sqs/text.ts';
import { TrunklineError } from './error.ts';
import { toStoredAttributes } from './message-attributes.ts';
import { requireFinite } from './number-range.ts';
import type { MessageToSend, SentMessage } from './requests.ts';

/** Messages in the JSON that the statement for sending reads. */
export function toEntriesJson(messages: readonly MessageToSend[]): string {
  return JSON.stringify(
    messages.map((message) => {
      requireTransportable(message);
      return {
        body: message.messageBody,
        delay_seconds:
          message.delaySeconds === undefined
            ? undefined
            : requireFinite('delaySeconds', message.delaySeconds),
        attributes: toStoredAttributes(message.messageAttributes),
        group_id: message.messageGroupId,
        deduplication_id: message.messageDeduplicationId,
        trace_header: message.traceHeader,
      };
    }),
  );
}

/** PostgreSQL has no text with a zero character or half a surrogate pair; the database checks all else. */
function requireTransportable({ messageBody, messageAttributes }: MessageToSend): void {
  if (!hasOnlyXmlCharacters(messageBody)) {
    throw new TrunklineError(
      'InvalidMessageContents',
      'Invalid binary character was found in the message body, the set of allowed characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.',
    );
  }
  for (const [name, { stringValue }] of Object.entries(messageAttributes ?? {})) {
    if (stringValue !== undefined && !hasOnlyXmlCharacters(stringValue)) {
      throw new TrunklineError(
        'InvalidParameterValue',
        `The value of message attribute '${name}' has characters that are not allowed.`,
      );
    }
  }
}

/** A row of `trunkline.send_message_batch` in JSON. */
export interface SentRow {
  message_id: string;
  sequence_number: string | null;
  md5_of_message_body: string;
  md5_of_message_attributes: string | null;
}

export function toSentMessage(row: SentRow): SentMessage {
  return {
    messageId: row.message_id,
    md5OfMessageBody: row.md5_of_message_body,
    md5OfMessageAttributes: row.md5_of_message_attributes ?? undefined,
    sequenceNumber: row.sequence_number ?? undefined,
  };
}
