import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import { call, createQueue, deleteMessage, only, receiveOne, send } from './door.ts';

const database = useDatabase();
const { pool } = database;

const noPermission = { code: '42501' };

async function sessionOf(role: string): Promise<Client> {
  const session = await openSession(database);
  await session.query(`set role ${role}`);
  return session;
}

/** What a role may do with each object of the schema, by the catalogue. */
async function allowed(role: string) {
  const { rows: functions } = await pool.query<{ name: string }>(
    `select distinct function.proname as name
    from pg_proc as function
    where function.pronamespace = 'trunkline'::regnamespace
      and has_function_privilege($1, function.oid, 'execute')
    order by name`,
    [role],
  );
  const { rows: relations } = await pool.query<{ name: string; rights: string }>(
    `select relation.relname as name, string_agg(privilege.name, ',') as rights
    from pg_class as relation
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'])
      as privilege (name)
    where relation.relnamespace = 'trunkline'::regnamespace
      and relation.relkind in ('r', 'v', 'm', 'p')
      and has_table_privilege($1, relation.oid, privilege.name)
    group by relation.relname
    order by name`,
    [role],
  );
  const { rows: others } = await pool.query<{ has_sequence: boolean; may_create: boolean }>(
    `select
      bool_or(has_sequence_privilege($1, sequence.oid, 'usage, select, update')) as has_sequence,
      has_schema_privilege($1, 'trunkline', 'create') as may_create
    from pg_class as sequence
    where sequence.relnamespace = 'trunkline'::regnamespace and sequence.relkind = 'S'`,
    [role],
  );
  return { functions: functions.map(({ name }) => name), relations, ...only(others) };
}

async function namesOf(query: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(query);
  return rows.map(({ name }) => name);
}

describe('trunkline_app', () => {
  it('may execute every public function and nothing else', async () => {
    const rights = await allowed('trunkline_app');
    expect(rights).toEqual({
      functions: await namesOf(
        `select distinct proname as name from pg_proc
        where pronamespace = 'trunkline'::regnamespace and proname not like '\\_%' order by name`,
      ),
      relations: [],
      has_sequence: false,
      may_create: false,
    });
    expect(rights.functions).toContain('send_message');
  });

  it('does all of its work through them', async () => {
    const app = await sessionOf('trunkline_app');
    const name = await createQueue(app, { FifoQueue: true });
    await send(app, name, 'a', { message_group_id: 'g', message_deduplication_id: 'd' });
    expect(await call(app, 'message_peek', { queue_name: name })).toMatchObject([
      { body: 'a', state: 'visible' },
    ]);
    const { receipt_handle } = await receiveOne(app, name);
    await call(app, 'change_message_visibility', {
      queue_name: name,
      receipt_handle,
      visibility_timeout: '1 hour',
    });
    await deleteMessage(app, name, receipt_handle);
    await call(app, 'set_queue_attributes', {
      queue_name: name,
      attributes: '{"DelaySeconds": 1}',
    });
    await call(app, 'get_queue_attributes', { queue_name: name });
    await call(app, 'purge_queue', { queue_name: name });
    await call(app, 'delete_queue', { queue_name: name });
  });

  it.each([
    'select receipt_key from trunkline.queues',
    'select receipt_nonce from trunkline.messages',
    'table trunkline.queue_backlog',
    'table trunkline.settings',
    "update trunkline.settings set account_id = '1'",
    'delete from trunkline.messages',
    "select nextval('trunkline.message_ids')",
    'select * from trunkline._receive_messages(null, 1, 1, 1)',
    "select trunkline._receipt_handle('\\x00', 1, gen_random_uuid())",
    'select * from trunkline._report_backlog(1, now())',
    'create table trunkline.mine ()',
  ])('may not: %s', async (statement) => {
    const app = await sessionOf('trunkline_app');
    await expect(app.query(statement)).rejects.toMatchObject(noPermission);
  });
});

describe('trunkline_report', () => {
  it('may read the views and nothing else', async () => {
    const rights = await allowed('trunkline_report');
    const views = await namesOf(
      `select relname as name from pg_class
      where relnamespace = 'trunkline'::regnamespace and relkind = 'v' order by name`,
    );
    expect(rights).toEqual({
      functions: await namesOf(
        `select distinct proname as name from pg_proc
        where pronamespace = 'trunkline'::regnamespace and proname like '\\_report\\_%' order by name`,
      ),
      relations: views.map((name) => ({ name, rights: 'select' })),
      has_sequence: false,
      may_create: false,
    });
    expect(views).toContain('queue_backlog');
  });

  it('reads every view', async () => {
    const name = await createQueue(pool, { FifoQueue: true });
    await send(pool, name, 'a', { message_group_id: 'g', message_deduplication_id: 'd' });
    await receiveOne(pool, name);
    await pool.query("select trunkline._sample_statistics('2040-01-02T00:00Z')");
    const report = await sessionOf('trunkline_report');
    for (const view of [
      'queue_backlog',
      'message_group_backlog',
      'in_flight_messages',
      'queue_history',
    ]) {
      const { rows } = await report.query(`select * from trunkline.${view} where queue_name = $1`, [
        name,
      ]);
      expect({ view, rows }).toMatchObject({ rows: [{ queue_name: name }] });
    }
  });

  it.each([
    'select body from trunkline.messages',
    "select * from trunkline.message_peek('any')",
    "select * from trunkline.send_message('any', 'a')",
    "select * from trunkline.receive_message('any')",
    'table trunkline.queue_statistics',
  ])('may not: %s', async (statement) => {
    const report = await sessionOf('trunkline_report');
    await expect(report.query(statement)).rejects.toMatchObject(noPermission);
  });
});

it('nothing that reports shows a receipt nonce or a key', async () => {
  const secret = await namesOf(
    `select format('%s.%s', attribute.attrelid::regclass, attribute.attname) as name
    from pg_attribute as attribute
    join pg_class as relation on relation.oid = attribute.attrelid
    where relation.relnamespace = 'trunkline'::regnamespace
      and relation.relkind = 'v'
      and (attribute.attname ~ 'nonce|key|receipt' or attribute.atttypid = 'bytea'::regtype)
    union all
    select format('%s %s', function.oid::regprocedure, pg_get_function_result(function.oid))
    from pg_proc as function
    where function.pronamespace = 'trunkline'::regnamespace
      and (function.proname like '\\_report\\_%' or function.proname = 'message_peek')
      and pg_get_function_result(function.oid) ~ 'nonce|key|receipt|bytea'`,
  );
  expect(secret).toEqual([]);
});

describe('a function that everybody may call', () => {
  it('belongs to the owner, has its search path pinned and is closed to the public', async () => {
    const { rows } = await pool.query(
      `select function.oid::regprocedure::text as name
      from pg_proc as function
      where function.pronamespace = 'trunkline'::regnamespace
        and (
          has_function_privilege('public', function.oid, 'execute')
          or function.prosqlbody is null
            and not coalesce('search_path=pg_catalog, pg_temp' = any (function.proconfig), false)
          or function.proname not like '\\_%' and not function.prosecdef
          or function.proname like '\\_report\\_%' and not function.prosecdef
        )`,
    );
    expect(rows).toEqual([]);
  });

  it('does the same under a hostile search path and behind hostile temporary tables', async () => {
    const hostile = await openSession(database);
    await hostile.query(`
      create schema hostile;
      create function hostile.fail() returns text language plpgsql
        as $$ begin raise exception 'hostile code was reached'; end $$;
      create function hostile.clock_timestamp() returns timestamptz language sql as $$ select hostile.fail()::timestamptz $$;
      create function hostile.statement_timestamp() returns timestamptz language sql as $$ select hostile.fail()::timestamptz $$;
      create function hostile.md5(text) returns text language sql as $$ select hostile.fail() $$;
      create function hostile.sha256(bytea) returns bytea language sql as $$ select hostile.fail()::bytea $$;
      create function hostile.gen_random_uuid() returns uuid language sql as $$ select hostile.fail()::uuid $$;
      create function hostile.make_interval(secs double precision) returns interval language sql as $$ select hostile.fail()::interval $$;
      create function hostile.octet_length(text) returns integer language sql as $$ select hostile.fail()::integer $$;
      create function hostile.format(text, text) returns text language sql as $$ select hostile.fail() $$;
      create function hostile.nextval(text) returns bigint language sql as $$ select hostile.fail()::bigint $$;
      create function hostile.fails(bigint, bigint) returns boolean language sql as $$ select hostile.fail()::boolean $$;
      create function hostile.fails(text, text) returns boolean language sql as $$ select hostile.fail()::boolean $$;
      create function hostile.fails(timestamptz, timestamptz) returns boolean language sql as $$ select hostile.fail()::boolean $$;
      create operator hostile.= (leftarg = bigint, rightarg = bigint, function = hostile.fails);
      create operator hostile.= (leftarg = text, rightarg = text, function = hostile.fails);
      create operator hostile.~ (leftarg = text, rightarg = text, function = hostile.fails);
      create operator hostile.> (leftarg = timestamptz, rightarg = timestamptz, function = hostile.fails);
      create operator hostile.<= (leftarg = timestamptz, rightarg = timestamptz, function = hostile.fails);
      create domain hostile.text as pg_catalog.text check (false);
      create domain hostile.uuid as pg_catalog.uuid check (false);
      create table hostile.queues (like trunkline.queues);
      create table hostile.messages (like trunkline.messages);
      create table hostile.settings (like trunkline.settings);
      create temporary table queues (like trunkline.queues);
      create temporary table messages (like trunkline.messages);
      create temporary table settings (like trunkline.settings);
      create temporary table pg_class ();
      grant usage on schema hostile to public;
    `);
    // Proves that what stands in front is really used, where the path is not pinned.
    await hostile.query('set search_path = pg_temp, hostile, pg_catalog');
    await expect(hostile.query(`select md5('x'::pg_catalog.text)`)).rejects.toThrow(
      'hostile code was reached',
    );
    await expect(hostile.query('select 1::bigint = 1::bigint')).rejects.toThrow('hostile code');

    for (const isFifo of [false, true]) {
      const name = `hostile${isFifo ? '.fifo' : ''}`;
      const attributes = { VisibilityTimeout: 60, ...(isFifo && { FifoQueue: true }) };
      await call(hostile, 'create_queue', {
        queue_name: name,
        attributes: JSON.stringify(attributes),
      });
      const sent = await send(hostile, name, 'a', {
        message_attributes: JSON.stringify({ n: { DataType: 'Number', StringValue: '1' } }),
        ...(isFifo && { message_group_id: 'g', message_deduplication_id: 'd' }),
      });
      expect(await call(hostile, 'message_peek', { queue_name: name })).toHaveLength(1);
      const received = await receiveOne(hostile, name);
      expect(received).toMatchObject({
        message_id: sent.message_id,
        md5_of_body: '0cc175b9c0f1b6a831c399e269772661',
        md5_of_message_attributes: sent.md5_of_message_attributes,
      });
      // Each at a minute of its own, since a minute is sampled once.
      const minute = isFifo ? '2040-01-01T00:01Z' : '2040-01-01T00:00Z';
      await hostile.query('select trunkline._sample_statistics($1)', [minute]);
      for (const view of ['queue_backlog', 'in_flight_messages', 'queue_history']) {
        const { rows } = await hostile.query(
          `select * from trunkline.${view} where queue_name operator(pg_catalog.=) $1`,
          [name],
        );
        expect({ view, rows }).toMatchObject({ rows: expect.arrayContaining([expect.anything()]) });
      }
      await call(hostile, 'change_message_visibility', {
        queue_name: name,
        receipt_handle: received.receipt_handle,
        visibility_timeout: '1 minute',
      });
      await deleteMessage(hostile, name, received.receipt_handle);
      await call(hostile, 'set_queue_attributes', {
        queue_name: name,
        attributes: '{"DelaySeconds": "1"}',
      });
      await call(hostile, 'list_queues', {});
      await call(hostile, 'get_queue_attributes', { queue_name: name });
      await call(hostile, 'purge_queue', { queue_name: name });
      await call(hostile, 'delete_queue', { queue_name: name });
    }
    for (const table of ['queues', 'messages', 'settings']) {
      const { rows } = await pool.query(`select * from hostile.${table}`);
      expect(rows).toEqual([]);
    }
    await pool.query('drop schema hostile cascade');
  });
});

describe('a receipt handle that was made up', () => {
  const handle = (bytes: Buffer) => bytes.toString('base64');

  it.each([
    ['an empty text', () => ''],
    ['a plain text', () => 'not a receipt handle'],
    ['random bytes', () => handle(Buffer.from(crypto.getRandomValues(new Uint8Array(33))))],
    ['zeros', () => handle(Buffer.from([1, ...Array(32).fill(0)]))],
    [
      'one of another message of the queue with this signature',
      (mine: string) => {
        const bytes = Buffer.from(mine, 'base64');
        bytes.writeBigInt64BE(bytes.readBigInt64BE(1) + 1n, 1);
        return handle(bytes);
      },
    ],
    ['another alphabet', (mine: string) => mine.replaceAll('+', '-').replaceAll('/', '_').slice(1)],
  ])('is refused by every function: %s', async (_what, forge) => {
    const app = await sessionOf('trunkline_app');
    for (const queue of [{}, { FifoQueue: true, ContentBasedDeduplication: true }]) {
      const name = await createQueue(app, queue);
      const group = 'FifoQueue' in queue ? { message_group_id: 'g' } : {};
      await send(app, name, 'mine', group);
      await send(app, name, 'other', group);
      const mine = (
        await call<{ receipt_handle: string }>(app, 'receive_message', {
          queue_name: name,
          max_number_of_messages: 2,
        })
      )[0];
      const receipt_handle = forge(mine?.receipt_handle ?? '');
      const refused = { code: 'TQ007' };
      await expect(deleteMessage(app, name, receipt_handle)).rejects.toMatchObject(refused);
      await expect(
        call(app, 'delete_message_or_ignore', { queue_name: name, receipt_handle }),
      ).rejects.toMatchObject(refused);
      await expect(
        call(app, 'change_message_visibility', {
          queue_name: name,
          receipt_handle,
          visibility_timeout: '0',
        }),
      ).rejects.toMatchObject(refused);
      expect(
        await call(app, 'message_peek', { queue_name: name, message_state: 'in_flight' }),
      ).toHaveLength(2);
    }
  });

  it('is refused when another queue gave it out', async () => {
    const app = await sessionOf('trunkline_app');
    const [one, other] = [await createQueue(app), await createQueue(app)];
    await send(app, one, 'a');
    await send(app, other, 'b');
    const { receipt_handle } = await receiveOne(app, one);
    await receiveOne(app, other);
    await expect(deleteMessage(app, other, receipt_handle)).rejects.toMatchObject({
      code: 'TQ007',
    });
  });
});

it('the session says which account is meant', async () => {
  const session = await openSession(database);
  await session.query(`set trunkline.account_id = '123456789012'`);
  await call(session, 'create_queue', { queue_name: 'theirs' });
  expect(await call(session, 'list_queues', {})).toEqual([{ list_queues: 'theirs' }]);
  await expect(send(pool, 'theirs', 'a')).rejects.toMatchObject({
    code: 'TQ001',
    detail: 'There is no queue named theirs in account 000000000000.',
  });
  await session.query('reset trunkline.account_id');
  await expect(send(session, 'theirs', 'a')).rejects.toMatchObject({ code: 'TQ001' });
});
