import type { Connection, Executor } from '../executor.ts';
import { rowsOf } from './rows.ts';

/** An `EntityManager` or a `DataSource` of TypeORM for PostgreSQL. */
interface TypeOrmExecutor {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

interface TypeOrmDataSource<Manager> extends TypeOrmExecutor {
  readonly manager: Manager;
  transaction(work: (manager: Manager) => Promise<unknown>): Promise<unknown>;
}

function executor(manager: TypeOrmExecutor): Executor {
  return {
    query: async (text, values) => ({ rows: rowsOf(await manager.query(text, [...values])) }),
  };
}

export function fromTypeOrm<Manager extends TypeOrmExecutor>(
  dataSource: TypeOrmDataSource<Manager>,
): Connection<Manager>;
export function fromTypeOrm(manager: TypeOrmExecutor): Executor;
export function fromTypeOrm<Manager extends TypeOrmExecutor>(
  given: TypeOrmExecutor | TypeOrmDataSource<Manager>,
): Executor | Connection<Manager> {
  if (!('manager' in given)) {
    return executor(given);
  }
  return {
    ...executor(given),
    async transaction<Result>(work: (manager: Manager, on: Executor) => Promise<Result>) {
      const kept: { result?: Promise<Result> } = {};
      await given.transaction(async (manager) => {
        kept.result = work(manager, executor(manager));
        await kept.result;
      });
      if (kept.result === undefined) {
        throw new Error('TypeORM did not begin the transaction.');
      }
      return await kept.result;
    },
  };
}
