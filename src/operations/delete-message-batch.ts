import { missingParameter } from '../sqs/errors.ts';
import { deleteMessageBatch as shapes } from '../sqs/shapes/messages.ts';
import { batchError, batchResult, requireBatchEntries } from './batch.ts';
import { deleteByHandles } from './delete-outcomes.ts';
import { defineQueueOperation } from './operation.ts';

const entryName = 'DeleteMessageBatchRequestEntry';

export const deleteMessageBatch = defineQueueOperation({
  action: 'DeleteMessageBatch',
  shapes,
  async run(context, queue, input) {
    const entries = requireBatchEntries(input.Entries, entryName);
    const handleErrors = await deleteByHandles(
      context,
      queue,
      entries.map((entry) => entry.ReceiptHandle ?? ''),
    );
    const errors = entries.map(({ ReceiptHandle }, index) =>
      ReceiptHandle
        ? handleErrors[index]
        : missingParameter(`${entryName}.${index + 1}.ReceiptHandle`),
    );
    return batchResult(
      entries.flatMap(({ Id }, index) => (errors[index] === undefined ? [{ Id }] : [])),
      entries.flatMap(({ Id }, index) => {
        const error = errors[index];
        return error === undefined ? [] : [batchError(Id, error)];
      }),
    );
  },
});
