import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MigrationError, migrate } from '../../src/db/migrate.ts';
import {
  runServerProcess,
  startServerProcess,
  useCompiledServer,
} from '../crash/compiled-server.ts';
import { jsonClient } from '../support/clients.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';

const empty = useDatabase({ isMigrated: false });
const forbidden = useDatabase({ isMigrated: false });
const current = useDatabase();
const compiled = useCompiledServer();

const migrations = resolve(import.meta.dirname, '../../migrations');

async function namesIn(directory: string): Promise<string[]> {
  const files = await readdir(directory);
  return files.filter((file) => file.endsWith('.sql')).map((file) => file.replace('.sql', ''));
}

/** Every row and object that migrating writes, with the transaction that wrote it. */
async function fingerprint({ pool }: TestDatabase): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select 'migration' as kind, name, xmin::text, run_on::text as detail
    from trunkline.schema_migrations
    union all
    select 'function', name, xmin::text, checksum || installed_at
    from trunkline.installed_functions
    union all
    select 'procedure', oid::regprocedure::text, xmin::text, md5(prosrc)
    from pg_proc
    where pronamespace = 'trunkline'::regnamespace
    union all
    select 'relation', oid::regclass::text, '', relkind::text
    from pg_class
    where relnamespace = 'trunkline'::regnamespace
    order by 1, 2`,
  );
  return rows;
}

/** A role of its own for a test, and the URL by which it connects. */
async function createRole(database: TestDatabase): Promise<{ name: string; url: string }> {
  const name = `trunkline_test_role_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  await database.pool.query(`create role ${name} login password 'secret'`);
  onTestFinished(async () => {
    // With a connection of its own, because the pool's may still be in use by nobody but the server.
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`drop owned by ${name}`);
    await client.query(`drop role ${name}`);
    await client.end();
  });
  const url = new URL(database.url);
  url.username = name;
  url.password = 'secret';
  return { name, url: url.href };
}

describe('migrating', () => {
  it('gives one schema when twenty servers start at once on an empty database', async () => {
    await Promise.all(Array.from({ length: 20 }, () => migrate(empty.url)));
    const { rows: applied } = await empty.pool.query<{ name: string }>(
      'select name from trunkline.schema_migrations order by name',
    );
    expect(applied.map(({ name }) => name)).toEqual((await namesIn(migrations)).sort());
    const { rows: installed } = await empty.pool.query<{ name: string }>(
      'select name from trunkline.installed_functions',
    );
    expect(installed.map(({ name }) => name).sort()).toEqual(
      (await namesIn(`${migrations}/functions`)).sort(),
    );
  });

  it('changes nothing when it fails half way', async () => {
    await forbidden.pool.query(
      `create function public.refuse() returns event_trigger language plpgsql
      as $$begin raise exception 'no functions today'; end$$`,
    );
    await forbidden.pool.query(
      `create event trigger refuse_functions on ddl_command_start
      when tag in ('CREATE FUNCTION') execute function public.refuse()`,
    );
    try {
      await expect(migrate(forbidden.url)).rejects.toThrow('no functions today');
      const { rows } = await forbidden.pool.query(
        `select from pg_namespace where nspname = 'trunkline'`,
      );
      expect(rows).toEqual([]);
    } finally {
      await forbidden.pool.query('drop event trigger refuse_functions');
      await forbidden.pool.query('drop function public.refuse()');
    }
  });

  it('changes nothing when it is run again', async () => {
    const before = await fingerprint(current);
    const messages: string[] = [];
    await migrate(current.url, (message) => messages.push(message));
    expect(await fingerprint(current)).toEqual(before);
    expect(messages).toEqual([]);
  });

  it('installs a function anew when its file changed, and no other', async () => {
    const before = await fingerprint(current);
    // As another version's file left it.
    await current.pool.query(
      `create or replace function trunkline._require_queue(p_queue_id bigint)
      returns trunkline.queues
      language sql
      as 'select null::trunkline.queues'`,
    );
    await current.pool.query(
      `update trunkline.installed_functions
      set checksum = 'another', installed_by = '0.0.1'
      where name = '_require_queue'`,
    );
    await migrate(current.url);

    const name = (row: unknown) => JSON.stringify(row).replace(/"xmin":"\d+"/, '');
    const after = await fingerprint(current);
    const changed = after.map(name).filter((row) => !before.map(name).includes(row));
    expect(changed).toHaveLength(1);
    expect(changed[0]).toContain('"function","name":"_require_queue"');
    const { rows } = await current.pool.query(
      `select from pg_proc
      where oid = 'trunkline._require_queue(bigint)'::regprocedure
        and prosrc like '%does not exist%'`,
    );
    expect(rows).toHaveLength(1);
  });

  it.each([
    [
      'a migration that it does not know',
      `insert into trunkline.schema_migrations (name, run_on) values ('9999_future', now())`,
      `delete from trunkline.schema_migrations where name = '9999_future'`,
      /schema is newer than this Trunkline .* has the migration 9999_future\. Start that version or a later one/,
    ],
    [
      'functions of a later version',
      `update trunkline.installed_functions set installed_by = '99.10.0' where name = '_settle'`,
      `update trunkline.installed_functions set installed_by = '0.0.1' where name = '_settle'`,
      /schema is newer than this Trunkline .* brought up to date by 99\.10\.0\. Start that version or a later one/,
    ],
  ])('refuses a schema with %s and leaves it alone', async (_what, alter, restore, message) => {
    await current.pool.query(alter);
    try {
      const before = await fingerprint(current);
      await expect(migrate(current.url)).rejects.toThrow(MigrationError);
      await expect(migrate(current.url)).rejects.toThrow(message);
      expect(await fingerprint(current)).toEqual(before);
    } finally {
      await current.pool.query(restore);
    }
  });

  it('waits for its turn while another server migrates, and leaves no connection behind', async () => {
    await Promise.all([migrate(current.url), migrate(current.url)]);
    await expect
      .poll(async () => {
        const { rows } = await current.pool.query(
          `select from pg_stat_activity
          where datname = current_database() and application_name like 'trunkline migration%'`,
        );
        return rows.length;
      })
      .toBe(0);
  });
});

it('refuses a database whose encoding cannot hold every message', async () => {
  const name = `${new URL(current.url).pathname.slice(1)}_latin`;
  await current.pool.query(
    `create database ${name} template template0 encoding 'LATIN1' locale 'C'`,
  );
  onTestFinished(async () => {
    await current.pool.query(`drop database ${name} with (force)`);
  });
  const url = new URL(current.url);
  url.pathname = `/${name}`;
  await expect(migrate(url.href)).rejects.toThrow('encoding LATIN1');
});

describe('a server', () => {
  it('says what to grant when its role may not create the schema', async () => {
    const { url } = await createRole(forbidden);
    const { output, exitCode } = await runServerProcess(compiled, { DATABASE_URL: url });
    expect(exitCode).toBe(1);
    expect(output).toContain('may not set up the schema trunkline');
    expect(output).toContain('GRANT CREATE ON DATABASE');
    expect(output).not.toContain('    at ');
    const { rows } = await forbidden.pool.query(`select to_regnamespace('trunkline') as schema`);
    expect(rows).toEqual([{ schema: null }]);
  });

  it('says that the schema is newer', async () => {
    await current.pool.query(
      `insert into trunkline.schema_migrations (name, run_on) values ('9999_future', now())`,
    );
    onTestFinished(async () => {
      await current.pool.query(
        `delete from trunkline.schema_migrations where name = '9999_future'`,
      );
    });
    const { output, exitCode } = await runServerProcess(compiled, { DATABASE_URL: current.url });
    expect(exitCode).toBe(1);
    expect(output).toContain('newer than this Trunkline');
    expect(output).not.toContain('    at ');
  });

  it('starts on a current schema with a role that may create nothing', async () => {
    const { name, url } = await createRole(current);
    await current.pool.query(`grant usage on schema trunkline to ${name}`);
    await current.pool.query(
      `grant select, insert, update, delete on all tables in schema trunkline to ${name}`,
    );
    await current.pool.query(`grant usage, select on all sequences in schema trunkline to ${name}`);
    await current.pool.query(`grant execute on all functions in schema trunkline to ${name}`);
    const server = await startServerProcess(compiled, { DATABASE_URL: url });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'unprivileged' });
    await sqs.sendMessage({ QueueUrl, MessageBody: 'a' });
    const { Messages } = await sqs.receiveMessage({ QueueUrl });
    expect(Messages?.map(({ Body }) => Body)).toEqual(['a']);
    sqs.destroy();
    await server.kill('SIGTERM');
  });
});
