import { limits } from '../sqs/limits.ts';
import { sendMessage as shapes } from '../sqs/shapes/messages.ts';
import { messageTooLong, requireMessage } from './message-input.ts';
import { defineQueueOperation } from './operation.ts';

export const sendMessage = defineQueueOperation({
  action: 'SendMessage',
  shapes,
  async run(context, queue, input) {
    const { message, checksums } = requireMessage(context, input);
    if (message.sizeBytes > limits.messageSizeBytes) {
      throw messageTooLong(limits.messageSizeBytes);
    }
    const [sent] = await context.store.sendMessages(queue.id, [message]);
    if (sent?.messageId === undefined) {
      throw messageTooLong(sent?.maximumMessageSizeBytes ?? limits.messageSizeBytes);
    }
    context.announceMessages(queue.id);
    return { ...checksums, MessageId: sent.messageId };
  },
});
