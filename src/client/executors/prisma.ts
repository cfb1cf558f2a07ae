import type { Connection, Executor } from '../executor.ts';
import { rowsOf } from './rows.ts';

/** A Prisma client, or that of one of its interactive transactions. */
interface PrismaExecutor {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

interface PrismaDatabase<Transaction> extends PrismaExecutor {
  $transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

function executor(prisma: PrismaExecutor): Executor {
  return {
    query: async (text, values) => ({
      rows: rowsOf(await prisma.$queryRawUnsafe(text, ...values)),
    }),
  };
}

export function fromPrisma<Transaction extends PrismaExecutor>(
  prisma: PrismaDatabase<Transaction>,
): Connection<Transaction>;
export function fromPrisma(prisma: PrismaExecutor): Executor;
export function fromPrisma<Transaction extends PrismaExecutor>(
  prisma: PrismaExecutor | PrismaDatabase<Transaction>,
): Executor | Connection<Transaction> {
  if (!('$transaction' in prisma)) {
    return executor(prisma);
  }
  return {
    ...executor(prisma),
    transaction: (work) =>
      prisma.$transaction((transaction) => work(transaction, executor(transaction))),
  };
}
