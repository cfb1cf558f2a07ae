import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { Client } from 'pg';
import { getContainerRuntimeClient } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { startEmbeddedPostgres } from '../../src/embedded/index.ts';

/**
 * One PostgreSQL for the whole run: TEST_DATABASE_URL, else a container where a Docker engine answers, else
 * the embedded one. In it one migrated template, from which every test file copies a database of its own.
 */

declare module 'vitest' {
  interface ProvidedContext {
    /** A database for administration; test files create theirs beside it. */
    administrationUrl: string;
    templateName: string;
  }
}

interface Postgres {
  description: string;
  url: string;
  stop(): Promise<void>;
}

const image = 'postgres:18-alpine';
/** Tests do not outlive the machine, so nothing needs to reach the disk. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

async function startContainer(): Promise<Postgres | undefined> {
  try {
    await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
  // An engine that is there but cannot start the container is a failure: falling back without a word would
  // test something else than was asked for.
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const container = await new PostgreSqlContainer(image)
    .withCommand(['postgres', ...flags, '-c', 'max_connections=300'])
    .start();
  return {
    description: `${image} in a container`,
    url: container.getConnectionUri(),
    async stop() {
      await container.stop();
    },
  };
}

async function startEmbedded(): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  const embedded = await startEmbeddedPostgres({
    dataDirectory: directory,
    log: () => {},
    settings: { ...settings, max_connections: '300' },
  });
  return {
    description: 'embedded PostgreSQL',
    url: embedded.connectionString,
    async stop() {
      await embedded.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function startPostgres(): Promise<Postgres> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    return { description: 'TEST_DATABASE_URL', url: given, stop: async () => {} };
  }
  return (await startContainer()) ?? (await startEmbedded());
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const templateName = `trunkline_template_${process.pid}`;
  const administration = new Client({ connectionString: postgres.url });
  await administration.connect();
  const { rows } = await administration.query('show server_version');
  process.stdout.write(`Tests run on ${postgres.description}, ${rows[0].server_version}.\n`);

  // Whatever the server's default is.
  await administration.query(
    `create database ${templateName} template template0 encoding 'UTF8' locale 'C'`,
  );
  const templateUrl = new URL(postgres.url);
  templateUrl.pathname = `/${templateName}`;
  await migrate(templateUrl.href);
  project.provide('administrationUrl', postgres.url);
  project.provide('templateName', templateName);

  return async () => {
    try {
      const { rows: left } = await administration.query<{ datname: string }>(
        `select datname from pg_database where datname like 'trunkline_test_${process.pid}_%'`,
      );
      await administration.query(`drop database ${templateName} with (force)`);
      for (const { datname } of left) {
        await administration.query(`drop database ${datname} with (force)`);
      }
      if (left.length > 0) {
        throw new Error(
          `Tests left databases behind: ${left.map((row) => row.datname).join(', ')}`,
        );
      }
    } finally {
      await administration.end();
      await postgres.stop();
    }
  };
}
