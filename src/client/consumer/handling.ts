import type { Delivery } from './delivery.ts';
import type { ConsumerOptions, TransactionalHandler } from './options.ts';
import type { TransactionalSource } from './source.ts';

/** How a consumer handles a message: with or without a transaction. */
export interface Handling {
  /** Whether the message is deleted when the handling resolves. */
  isTransactional: boolean;
  /** Rejects with a {@link HandlerFailure} or, where the transaction failed, with its error. */
  run(delivery: Delivery): Promise<void>;
}

/** What a handler threw, as against what the transaction around it did. */
export class HandlerFailure extends Error {
  override readonly name = 'HandlerFailure';

  constructor(cause: unknown) {
    super('The handler failed.', { cause });
  }
}

/** @param beforeDelete told of each message whose deletion is about to be tried */
export function toHandling<Transaction>(
  options: ConsumerOptions<Transaction>,
  beforeDelete: (delivery: Delivery) => void,
): Handling {
  if (options.transactionalHandler !== undefined) {
    return inTransaction(options.source, options.transactionalHandler, beforeDelete);
  }
  const { handler } = options;
  // Without types it would be found when the first message has been received, and fail each of them.
  if (typeof handler !== 'function') {
    throw new TypeError('A Consumer needs a handler or a transactionalHandler, a function.');
  }
  return {
    isTransactional: false,
    async run({ message, signal }) {
      await failing(() => handler(message, { signal }));
    },
  };
}

function inTransaction<Transaction>(
  source: TransactionalSource<Transaction>,
  handler: TransactionalHandler<Transaction>,
  beforeDelete: (delivery: Delivery) => void,
): Handling {
  return {
    isTransactional: true,
    async run(delivery) {
      const { message, signal } = delivery;
      await source.deleteWith(message, async (transaction) => {
        await failing(() => handler(message, transaction, { signal }));
        if (delivery.isAbandoned) {
          throw new HandlerFailure(signal.reason);
        }
        beforeDelete(delivery);
      });
    },
  };
}

async function failing(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new HandlerFailure(error);
  }
}
