import { once } from 'node:events';
import fastify, { type FastifyInstance } from 'fastify';
import { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import trunkline from '../../src/plugin/fastify.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
let app: FastifyInstance;
let url: string;

/** An application with routes, a parser and an error handler of its own. */
beforeEach(async () => {
  app = fastify();
  app.addContentTypeParser('application/x-yaml', { parseAs: 'string' }, (_request, body, done) => {
    done(null, { yaml: body });
  });
  app.setErrorHandler((_error, _request, reply) => reply.status(418).send({ host: 'error' }));
  app.setNotFoundHandler((_request, reply) => reply.status(404).send({ host: 'not found' }));
  await app.register(trunkline, { pool: database.pool, prefix: '/queues' });
  app.post('/echo', async (request) => request.body);
  app.get('/fails', async () => {
    throw new Error('no');
  });
  app.post('/orders', async (request) => {
    const sent = await app.trunkline.sendMessage({
      queueName: 'orders',
      messageBody: JSON.stringify(request.body),
    });
    return { messageId: sent.messageId };
  });
  url = await app.listen({ port: 0 });
});
afterEach(() => app.close());

describe('The Fastify plugin', () => {
  it('answers an SDK below its prefix', async () => {
    const sqs = jsonClient(`${url}/queues`);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'sdk' });
    expect(QueueUrl).toBe(`${url}/queues/000000000000/sdk`);
    await sqs.sendMessage({ QueueUrl, MessageBody: '{"a": 1}' });
    const { Messages } = await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 1 });
    expect(Messages?.map(({ Body }) => Body)).toEqual(['{"a": 1}']);
    await expect(sqs.sendMessage({ QueueUrl, MessageBody: '' })).rejects.toMatchObject({
      name: 'MissingParameter',
    });
    sqs.destroy();
  });

  it.each(['/queues', '/queues/', '/queues/000000000000/any'])(
    'answers the Query protocol on %s',
    async (path) => {
      const answer = await app.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: 'Action=GetQueueUrl&QueueName=nowhere',
      });
      expect(answer.statusCode).toBe(400);
      expect(answer.body).toContain('<Code>');
    },
  );

  it('takes no root for a prefix', async () => {
    const rootless = fastify();
    await expect(
      rootless.register(trunkline, { pool: database.pool, prefix: '/' }).ready(),
    ).rejects.toThrow('The prefix must be a path such as /sqs');
  });

  it('gives the application the library on its own pool', async () => {
    await app.trunkline.createQueue({ queueName: 'orders' });
    const { messageId } = (
      await app.inject({ method: 'POST', url: '/orders', payload: { id: 7 } })
    ).json();
    const sqs = jsonClient(`${url}/queues`);
    const { QueueUrl } = await sqs.getQueueUrl({ QueueName: 'orders' });
    const { Messages } = await sqs.receiveMessage({ QueueUrl });
    expect(Messages?.[0]).toMatchObject({ MessageId: messageId, Body: '{"id":7}' });
    sqs.destroy();
  });

  it("leaves the application's parsers, errors and unknown routes to the application", async () => {
    const post = (contentType: string, payload: string) =>
      app.inject({
        method: 'POST',
        url: '/echo',
        headers: { 'content-type': contentType },
        payload,
      });
    expect((await post('application/json', '{"a":1}')).json()).toEqual({ a: 1 });
    expect((await post('application/x-yaml', 'a: 1')).json()).toEqual({ yaml: 'a: 1' });
    expect((await app.inject('/fails')).json()).toEqual({ host: 'error' });
    expect((await app.inject('/nowhere')).json()).toEqual({ host: 'not found' });
  });

  it("lets the application's hooks guard the API", async () => {
    const guarded = fastify();
    guarded.addHook('onRequest', async (request, reply) => {
      if (request.headers.authorization !== 'secret') {
        await reply.status(401).send({ host: 'refused' });
      }
    });
    await guarded.register(trunkline, { pool: database.pool, prefix: '/queues' });
    const list = { method: 'GET', url: '/queues/?Action=ListQueues' } as const;
    expect((await guarded.inject(list)).statusCode).toBe(401);
    expect(
      (await guarded.inject({ ...list, headers: { authorization: 'secret' } })).statusCode,
    ).toBe(200);
    await guarded.close();
  });

  it('decorates only, if that is asked for', async () => {
    const bare = fastify();
    await bare.register(trunkline, { pool: database.pool, isApiOff: true });
    expect(await bare.trunkline.listQueues()).toEqual(expect.any(Array));
    expect((await bare.inject('/sqs?Action=ListQueues')).statusCode).toBe(404);
    await bare.close();
  });

  it('says which right the API needs, and does without it when that is off', async () => {
    const pool = new Pool({
      connectionString: database.url,
      max: 2,
      options: '-c role=trunkline_app',
    });
    const refused = fastify();
    await expect(refused.register(trunkline, { pool }).ready()).rejects.toThrow(
      'the role that owns the schema trunkline',
    );
    await refused.close();
    const bare = fastify();
    await bare.register(trunkline, { pool, isApiOff: true });
    expect(await bare.trunkline.listQueues()).toEqual(expect.any(Array));
    await bare.close();
    await pool.end();
  });

  it('answers waiting receives when the application closes, and leaves its pool open', async () => {
    await app.trunkline.createQueue({ queueName: 'quiet' });
    const sqs = jsonClient(`${url}/queues`);
    const arrived = once(app.server, 'request');
    const waiting = sqs.receiveMessage({
      QueueUrl: `${url}/queues/000000000000/quiet`,
      WaitTimeSeconds: 20,
    });
    await arrived;
    // The receive waits when it has found nothing and holds no connection any more.
    await expect.poll(() => database.pool.idleCount).toBe(database.pool.totalCount);
    const closedAtMs = performance.now();
    await app.close();
    expect(performance.now() - closedAtMs).toBeLessThan(5_000);
    expect((await waiting).Messages).toBeUndefined();
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    sqs.destroy();
  });
});
