import { missingParameter, SqsError } from '../sqs/errors.ts';
import { parseQueueAttributes } from '../sqs/queue-attributes.ts';
import { setQueueAttributes as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';
import { requireRedriveTarget } from './redrive-target.ts';

export const setQueueAttributes = defineQueueOperation({
  action: 'SetQueueAttributes',
  shapes,
  async run(context, queue, { Attributes = {} }) {
    if (Object.keys(Attributes).length === 0) {
      throw missingParameter('Attribute.Name');
    }
    const isFifo = queue.settings.is_fifo;
    const settings = parseQueueAttributes(Attributes, isFifo);
    if (settings.is_fifo === false) {
      throw new SqsError(
        'InvalidAttributeValue',
        'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
      );
    }
    await requireRedriveTarget(context, queue, settings, isFifo);
    await context.store.setQueueSettings(queue.id, settings);
    context.queues.forget(queue);
    return {};
  },
});
