import type { ReceivedMessage } from '../db/message-store.ts';
import { toCallerError } from '../db/sqlstate.ts';
import { invalidParameter, SqsError } from '../sqs/errors.ts';
import { isWithin, limits, type Range } from '../sqs/limits.ts';
import { attributesMd5, MessageAttributeSelection, textMd5 } from '../sqs/message-attributes.ts';
import { sequenceNumber } from '../sqs/sequence-number.ts';
import { type Message, receiveMessage as shapes } from '../sqs/shapes/messages.ts';
import { isMessageIdentifier } from '../sqs/text.ts';
import { defineQueueOperation } from './operation.ts';
import { changeByHandles } from './visibility-changes.ts';

function requireWithin(
  value: number | undefined,
  name: string,
  range: Range,
  reason: string,
): void {
  if (value !== undefined && !isWithin(value, range)) {
    throw invalidParameter(value, name, reason);
  }
}

/** A standard queue takes one too and makes no use of it, as on AWS. */
function requireAttemptId(attemptId: string | undefined): string | undefined {
  if (attemptId !== undefined && !isMessageIdentifier(attemptId)) {
    throw invalidParameter(
      attemptId,
      'ReceiveRequestAttemptId',
      'ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.',
    );
  }
  return attemptId;
}

function systemAttributes(
  message: ReceivedMessage,
  names: ReadonlySet<string>,
): Record<string, string> | undefined {
  const all: Record<string, string | null> = {
    SenderId: message.senderId,
    SentTimestamp: String(message.sentAt.getTime()),
    ApproximateReceiveCount: String(message.receiveCount),
    ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt.getTime()),
    MessageGroupId: message.groupId,
    MessageDeduplicationId: message.deduplicationId,
    SequenceNumber:
      message.deduplicationId === null ? null : sequenceNumber(message.sequenceNumber),
    AWSTraceHeader: message.traceHeader,
    DeadLetterQueueSourceArn: message.deadLetterSourceArn,
  };
  const asked: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) {
    if (value !== null && (names.has('All') || names.has(name))) {
      asked[name] = value;
    }
  }
  return Object.keys(asked).length > 0 ? asked : undefined;
}

function render(
  message: ReceivedMessage,
  systemNames: ReadonlySet<string>,
  selection: MessageAttributeSelection,
): Message {
  const system = systemAttributes(message, systemNames);
  const attributes = selection.of(message.attributes ?? {});
  return {
    MessageId: message.messageId,
    ReceiptHandle: message.receiptHandle,
    MD5OfBody: textMd5(message.body),
    Body: message.body,
    ...(system && { Attributes: system }),
    ...(attributes && {
      MD5OfMessageAttributes: attributesMd5(attributes),
      MessageAttributes: attributes,
    }),
  };
}

export const receiveMessage = defineQueueOperation({
  action: 'ReceiveMessage',
  shapes,
  async run(context, queue, input) {
    const { MaxNumberOfMessages = 1, VisibilityTimeout, WaitTimeSeconds } = input;
    requireWithin(
      MaxNumberOfMessages,
      'MaxNumberOfMessages',
      limits.receiveMaxMessages,
      'Must be between 1 and 10, if provided.',
    );
    requireWithin(
      WaitTimeSeconds,
      'WaitTimeSeconds',
      limits.receiveWaitSeconds,
      'Must be >= 0 and <= 20, if provided.',
    );
    requireWithin(
      VisibilityTimeout,
      'VisibilityTimeout',
      limits.visibilityTimeoutSeconds,
      'Must be >= 0 and <= 43200, if provided.',
    );

    const { isFifo } = queue;
    const request = {
      limit: MaxNumberOfMessages,
      visibilityTimeoutSeconds: VisibilityTimeout,
      inFlightLimit: context.inFlightLimits[isFifo ? 'fifo' : 'standard'],
    };
    const attemptId = requireAttemptId(input.ReceiveRequestAttemptId);
    const receive = () => {
      if (!isFifo) {
        return context.messages.receive(queue.id, request);
      }
      return attemptId === undefined
        ? context.messages.receiveFifo(queue.id, request)
        : context.messages.receiveFifoAttempt(queue.id, request, attemptId);
    };
    const waitSeconds = WaitTimeSeconds ?? queue.receiveWaitSeconds;
    let received: ReceivedMessage[];
    if (waitSeconds === 0) {
      received = await receive();
    } else {
      const poll = context.polls.join(queue.id);
      try {
        received = await poll.until(
          () => receive().catch(emptyWhenOverLimit),
          context.startedAtMs + waitSeconds * 1000,
          context.hangUpSignal(),
        );
      } finally {
        poll.leave();
      }
    }
    if (received.length === 0) {
      return {};
    }
    if (context.hasHungUp()) {
      // The client hung up while the statement ran: give the messages to somebody who listens. Not those of
      // an attempt, which the client may be about to repeat.
      if (!isFifo || attemptId === undefined) {
        const release = received.map(({ receiptHandle }) => ({ receiptHandle, timeoutSeconds: 0 }));
        await changeByHandles(context, queue, release);
        context.announceMessages(queue.id);
      }
      return {};
    }
    const systemNames = new Set([
      ...(input.AttributeNames ?? []),
      ...(input.MessageSystemAttributeNames ?? []),
    ]);
    const selection = new MessageAttributeSelection(input.MessageAttributeNames ?? []);
    return { Messages: received.map((message) => render(message, systemNames, selection)) };
  },
});

/** A long poll of a queue with too many messages in flight gets no error, on AWS too. */
function emptyWhenOverLimit(error: unknown): never[] {
  const callerError = toCallerError(error);
  if (callerError instanceof SqsError && callerError.errorName === 'OverLimit') {
    return [];
  }
  throw error;
}
