import { changeMessageVisibility } from './change-message-visibility.ts';
import { changeMessageVisibilityBatch } from './change-message-visibility-batch.ts';
import { createQueue } from './create-queue.ts';
import { deleteMessage } from './delete-message.ts';
import { deleteMessageBatch } from './delete-message-batch.ts';
import { deleteQueue } from './delete-queue.ts';
import { getQueueAttributes } from './get-queue-attributes.ts';
import { getQueueUrl } from './get-queue-url.ts';
import { listQueues } from './list-queues.ts';
import type { Operation } from './operation.ts';
import { purgeQueue } from './purge-queue.ts';
import { receiveMessage } from './receive-message.ts';
import { sendMessage } from './send-message.ts';
import { sendMessageBatch } from './send-message-batch.ts';
import { setQueueAttributes } from './set-queue-attributes.ts';

/** Every action of the server. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  [
    changeMessageVisibility,
    changeMessageVisibilityBatch,
    createQueue,
    deleteMessage,
    deleteMessageBatch,
    deleteQueue,
    getQueueAttributes,
    getQueueUrl,
    listQueues,
    purgeQueue,
    receiveMessage,
    sendMessage,
    sendMessageBatch,
    setQueueAttributes,
  ].map((operation) => [operation.action, operation]),
);
