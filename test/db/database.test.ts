import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openPool, typedDatabase } from '../../src/db/database.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

// Without a listener of its own, the connection's 'error' event ends the process, which fails the run.
it('survives that a connection breaks between two queries of its holder', async () => {
  const pool = openPool({ connectionString: database.url, poolSize: 1, onIdleError() {} });
  onTestFinished(() => pool.end());
  const kysely = typedDatabase(pool);
  const clients: PoolClient[] = [];
  pool.on('connect', (client) => clients.push(client));
  const select = sql<{ pid: number }>`select pg_backend_pid() as pid`;

  const outcome = kysely.connection().execute(async (connection) => {
    const { rows } = await select.execute(connection);
    const [client] = clients;
    // Not events.once, which listens to errors too.
    const ended = new Promise((resolve) => client?.once('end', resolve));
    await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    await select.execute(connection);
  });

  await expect(outcome).rejects.toThrow();
  expect((await select.execute(kysely)).rows).toHaveLength(1);
});
