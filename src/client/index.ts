/** The library: `import { Trunkline } from 'trunkline'`. It loads no server and no database driver. */

export { type Backoff, exponentialBackoff } from './consumer/backoff.ts';
export { Consumer } from './consumer/consumer.ts';
export { DatabaseSource } from './consumer/database-source.ts';
export { HandlerAbortedError } from './consumer/delivery.ts';
export type { ConsumerEvents, FailedCall } from './consumer/events.ts';
export type {
  ConsumerOptions,
  Handler,
  HandlerContext,
  TransactionalHandler,
} from './consumer/options.ts';
export type {
  MessageSource,
  ReceiveRequest,
  TransactionalSource,
  VisibilityRequest,
} from './consumer/source.ts';
export { type SqsClient, SqsSource } from './consumer/sqs-source.ts';
export type { DatabaseLike, TransactionLike, TransactionOf } from './database.ts';
export { type ErrorCode, ReceiptHandleExpiredError, TrunklineError } from './error.ts';
export type { Connection, Executor } from './executor.ts';
export { fromDrizzle } from './executors/drizzle.ts';
export { fromKnex } from './executors/knex.ts';
export { fromPostgresJs } from './executors/postgres-js.ts';
export { fromPrisma } from './executors/prisma.ts';
export { fromTypeOrm } from './executors/type-orm.ts';
export type { Message } from './message.ts';
export type { MessageAttributeValue, MessageAttributeValues } from './message-attributes.ts';
export type {
  NewQueueAttributes,
  QueueAttributes,
  SettableQueueAttributes,
} from './queue-attributes.ts';
export type * from './requests.ts';
export { Trunkline, type TrunklineOptions } from './trunkline.ts';
