import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import { documentedSqlStates } from './sqlstates.ts';

/** What the documentation says is what the database does. */

const database = useDatabase();
const { pool } = database;

const repository = resolve(import.meta.dirname, '../..');
const readDocument = (name: string) => readFile(resolve(repository, 'docs', name), 'utf8');

describe.each(['sql-api.md', 'reporting.md'])('the examples of %s', (document) => {
  it('run from first to last', async () => {
    const text = await readDocument(document);
    const examples = [...text.matchAll(/^```sql\n(.*?)^```$/gms)].map(
      ([, example = '']) => example,
    );
    expect(examples.length).toBeGreaterThan(5);
    await pool.query(`select trunkline.create_queue('orders')`);
    const session = await openSession(database);
    // By default a user named like the schema would make its tables there.
    await session.query('set search_path = public');
    for (const example of examples) {
      await session.query(example).catch((error: Error) => {
        throw new Error(`${error.message}, in the example:\n${example}`);
      });
    }
    await pool.query('revoke execute on function trunkline.message_peek from trunkline_report');
  });
});

it('the worked examples have their effects', async () => {
  const { rows } = await pool.query(
    `select
      (select count(*)::integer from public.shipments) as shipped,
      (select count(*)::integer from public.orders) as orders,
      (select count(*)::integer from public.orders where message_id is not null) as with_message,
      (trunkline.get_queue_attributes('orders') ->> 'ApproximateNumberOfMessages')::integer > 100000 as is_queued`,
  );
  expect(rows).toEqual([{ shipped: 1, orders: 100_004, with_message: 1_000, is_queued: true }]);
});

describe('sql-api.md', () => {
  it('has every public function with its arguments, in its own section', async () => {
    const text = await readDocument('sql-api.md');
    const { rows } = await pool.query<{ name: string; arguments: string[] }>(
      `select function.proname as name, function.proargnames[1 : function.pronargs] as arguments
      from pg_proc as function
      where function.pronamespace = 'trunkline'::regnamespace and function.proname not like '\\_%'
      order by name`,
    );
    const documented = [...text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(documented.toSorted()).toEqual(rows.map(({ name }) => name));
    for (const { name, arguments: names } of rows.filter((row) => row.name !== 'message_peek')) {
      const section = text.split(`### ${name}\n`)[1]?.split('\n### ')[0] ?? '';
      expect({ name, missing: names.filter((argument) => !section.includes(argument)) }).toEqual({
        name,
        missing: [],
      });
    }
  });

  it('has every SQLSTATE that functions raise, and no other', async () => {
    const directory = resolve(repository, 'migrations/functions');
    const files = (await readdir(directory)).filter((file) => file.endsWith('.sql'));
    const texts = await Promise.all(
      files.map((file) => readFile(resolve(directory, file), 'utf8')),
    );
    const raised = texts.flatMap((text) =>
      [...text.matchAll(/errcode = '(\w{5})'/g)].map(([, sqlState = '']) => sqlState),
    );
    expect([...(await documentedSqlStates()).keys()]).toEqual([...new Set(raised)].sort());
  });
});

describe('reporting.md', () => {
  it('has every column of every view with its type, in the words of the catalogue', async () => {
    const text = await readDocument('reporting.md');
    const { rows } = await pool.query<{ view: string; row: string }>(
      `select
        view.relname as view,
        format(
          '| \`%s\` | \`%s\` | %s |',
          attribute.attname,
          replace(format_type(attribute.atttypid, null), 'timestamp with time zone', 'timestamptz'),
          col_description(view.oid, attribute.attnum)
        ) as row
      from pg_class as view
      join pg_attribute as attribute on attribute.attrelid = view.oid and attribute.attnum > 0
      where view.relnamespace = 'trunkline'::regnamespace and view.relkind = 'v'
      order by view.relname, attribute.attnum`,
    );
    expect(rows.length).toBeGreaterThan(20);
    const plain = (row: string) => row.replaceAll('`', '');
    for (const view of new Set(rows.map((each) => each.view))) {
      const section = text.split(`## ${view}\n`)[1]?.split('\n## ')[0] ?? '';
      const documented = section.split('\n').filter((line) => line.startsWith('| `'));
      expect(documented.map(plain)).toEqual(
        rows.filter((each) => each.view === view).map(({ row }) => plain(row)),
      );
    }
  });

  it('has every column that message_peek answers', async () => {
    const text = await readDocument('reporting.md');
    const { rows } = await pool.query<{ name: string; type: string }>(
      `select result.name, format_type(result.type, null) as type
      from pg_proc as function
      cross join unnest(function.proargnames, function.proallargtypes, function.proargmodes)
        as result (name, type, mode)
      where function.oid = 'trunkline.message_peek'::regproc and result.mode = 't'`,
    );
    const section = text.split('## message_peek\n')[1]?.split('\n## ')[0] ?? '';
    const table = section.split('| Column | Type | |\n')[1] ?? '';
    expect(
      [...table.matchAll(/^\| `(\w+)` \| `(\w+)` \|/gm)].map(([, name, type]) => [name, type]),
    ).toEqual(
      rows.map(({ name, type }) => [name, type.replace('timestamp with time zone', 'timestamptz')]),
    );
  });
});
