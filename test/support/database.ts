import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';

/** A fresh, migrated database of a test file. */
export interface TestDatabase {
  url: string;
  pool: Pool;
}

let lastNumber = 0;

async function administrate<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: inject('administrationUrl') });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The processes still connected to a database, after those that are just closing are gone. */
async function leftConnections(client: Client, name: string): Promise<string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query<{ description: string }>(
      `select application_name || ': ' || query as description from pg_stat_activity where datname = $1`,
      [name],
    );
    if (rows.length === 0 || attempt > 20) {
      return rows.map((row) => row.description);
    }
    await sleep(50);
  }
}

/**
 * Creates a database before the tests of a file and drops it after them. Fails the file when something
 * still holds a connection then.
 *
 * @param isMigrated false for an empty database
 */
export function useDatabase({ isMigrated = true } = {}): TestDatabase {
  lastNumber += 1;
  const template = inject('templateName');
  const runId = template.replace('trunkline_template_', '');
  const name = `trunkline_test_${runId}_${process.pid}_${lastNumber}_${Math.random().toString(36).slice(2, 8)}`;
  const url = new URL(inject('administrationUrl'));
  url.pathname = `/${name}`;
  const database: TestDatabase = {
    url: url.href,
    pool: new Pool({ connectionString: url.href, max: 30, application_name: 'trunkline test' }),
  };

  beforeAll(async () => {
    await administrate(async (client) => {
      const origin = isMigrated ? template : `template0 encoding 'UTF8' locale 'C'`;
      await client.query(`create database ${name} template ${origin}`);
    });
  });

  afterAll(async () => {
    await database.pool.end();
    await administrate(async (client) => {
      const left = await leftConnections(client, name);
      await client.query(`drop database ${name} with (force)`);
      if (left.length > 0) {
        throw new Error(`Connections were left open:\n${left.join('\n')}`);
      }
    });
  });

  return database;
}
