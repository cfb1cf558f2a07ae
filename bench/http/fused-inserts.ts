import { createHash, randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { Pool } from 'pg';

/**
 * The ceiling for a server on Fastify that stores: bare Fastify, and one insert for all messages that came while the
 * last one ran. It checks nothing, and a message is an id, a body and a time.
 */
interface Message {
  MessageBody: string;
}

interface Waiting extends Message {
  id: string;
  stored(): void;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
await pool.query(`
  create table if not exists fused_inserts (
    id bigint primary key generated always as identity,
    visible_at timestamptz not null default clock_timestamp(),
    message_id uuid not null,
    body text not null
  )`);
await pool.query(
  'create index if not exists fused_inserts_visible_at on fused_inserts (visible_at)',
);

const waiting: Waiting[] = [];
let isStoring = false;

async function storeWaiting(): Promise<void> {
  if (isStoring) {
    return;
  }
  isStoring = true;
  // A microtask later all messages of a batch are waiting, and go into one statement.
  await Promise.resolve();
  while (waiting.length > 0) {
    const load = waiting.splice(0, 300);
    await pool.query({
      name: 'insert',
      text: 'insert into fused_inserts (message_id, body) select * from unnest($1::uuid[], $2::text[])',
      values: [load.map(({ id }) => id), load.map(({ MessageBody }) => MessageBody)],
    });
    for (const { stored } of load) {
      stored();
    }
  }
  isStoring = false;
}

async function answer({ MessageBody }: Message) {
  const id = randomUUID();
  await new Promise<void>((stored) => {
    waiting.push({ id, MessageBody, stored });
    void storeWaiting();
  });
  return { MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'), MessageId: id };
}

const app = fastify();

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
  done(null, JSON.parse(String(body)));
});

app.post<{ Body: Message & { Entries?: (Message & { Id: string })[] } }>('/', async ({ body }) =>
  body.Entries === undefined
    ? await answer(body)
    : {
        Successful: await Promise.all(
          body.Entries.map(async (entry) => ({ Id: entry.Id, ...(await answer(entry)) })),
        ),
      },
);

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`Listening on ${url}.\n`);
