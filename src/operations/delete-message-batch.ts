import { invalidReceiptHandle, missingParameter, type SqsError } from '../sqs/errors.ts';
import { deleteMessageBatch as shapes } from '../sqs/shapes/messages.ts';
import { batchError, batchResult, requireBatchEntries } from './batch.ts';
import { defineQueueOperation } from './operation.ts';

const entryName = 'DeleteMessageBatchRequestEntry';

export const deleteMessageBatch = defineQueueOperation({
  action: 'DeleteMessageBatch',
  shapes,
  async run(context, queue, input) {
    const entries = requireBatchEntries(input.Entries, entryName);
    const outcomes = await context.store.deleteMessages(
      queue.id,
      entries.map((entry) => entry.ReceiptHandle ?? ''),
    );
    const errors = entries.map(({ ReceiptHandle }, index): SqsError | undefined => {
      if (!ReceiptHandle) {
        return missingParameter(`${entryName}.${index + 1}.ReceiptHandle`);
      }
      return outcomes[index] === 'invalid' ? invalidReceiptHandle(ReceiptHandle) : undefined;
    });
    return batchResult(
      entries.flatMap(({ Id }, index) => (errors[index] === undefined ? [{ Id }] : [])),
      entries.flatMap(({ Id }, index) => {
        const error = errors[index];
        return error === undefined ? [] : [batchError(Id, error)];
      }),
    );
  },
});
