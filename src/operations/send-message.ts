import type { Queue } from '../db/queue-store.ts';
import { limits } from '../sqs/limits.ts';
import { sequenceNumber } from '../sqs/sequence-number.ts';
import { sendMessage as shapes } from '../sqs/shapes/messages.ts';
import {
  type MessageInput,
  messageTooLong,
  missingDeduplicationId,
  requireFifoMessage,
  requireMessage,
} from './message-input.ts';
import { defineQueueOperation, type RequestContext } from './operation.ts';

export const sendMessage = defineQueueOperation({
  action: 'SendMessage',
  shapes,
  async run(context, queue, input) {
    const sent = queue.isFifo
      ? await sendToFifoQueue(context, queue, input)
      : await sendToStandardQueue(context, queue, input);
    context.announceMessages(queue.id);
    return sent;
  },
});

async function sendToStandardQueue(context: RequestContext, queue: Queue, input: MessageInput) {
  const { message, checksums } = requireMessage(context, input);
  requireSize(message.sizeBytes);
  const [sent] = await context.messages.send(queue.id, [message]);
  if (sent?.messageId === undefined) {
    throw messageTooLong(sent?.maximumMessageSizeBytes ?? limits.messageSizeBytes);
  }
  return { ...checksums, MessageId: sent.messageId };
}

async function sendToFifoQueue(context: RequestContext, queue: Queue, input: MessageInput) {
  const { message, checksums } = requireFifoMessage(context, input);
  requireSize(message.sizeBytes);
  const [sent] = await context.groupTurns.take(
    queue.id,
    [message.groupId],
    context.messages.fifoSend(queue.id, [message]),
  );
  if (sent?.refusal === 'too_long') {
    throw messageTooLong(sent.maximumMessageSizeBytes);
  }
  if (sent?.refusal !== null) {
    throw missingDeduplicationId();
  }
  return {
    ...checksums,
    MessageId: sent.messageId,
    SequenceNumber: sequenceNumber(sent.sequenceNumber),
  };
}

/** No queue takes more, so this much is known before the queue is asked. */
function requireSize(sizeBytes: number): void {
  if (sizeBytes > limits.messageSizeBytes) {
    throw messageTooLong(limits.messageSizeBytes);
  }
}
