import { createHash, randomUUID } from 'node:crypto';
import fastify from 'fastify';

/**
 * The ceiling for a server on Fastify: reads the same body, computes the same MD5, makes up the same answer,
 * and stores nothing.
 */
interface Message {
  MessageBody: string;
}

const app = fastify();

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
  done(null, JSON.parse(String(body)));
});

function answer({ MessageBody }: Message) {
  return {
    MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
    MessageId: randomUUID(),
  };
}

app.post<{ Body: Message & { Entries?: (Message & { Id: string })[] } }>('/', async ({ body }) =>
  body.Entries === undefined
    ? answer(body)
    : { Successful: body.Entries.map((entry) => ({ Id: entry.Id, ...answer(entry) })) },
);

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`Listening on ${url}.\n`);
