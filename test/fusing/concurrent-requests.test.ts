import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const database = useDatabase();
const server = useServer(database);

describe('many requests at once', () => {
  it('stores every message once and answers each sender its own id', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'fused' });
    const bodies = Array.from({ length: 300 }, (_, index) => `body ${index}`);
    const sent = await Promise.all(
      bodies.map((MessageBody) => sqs.sendMessage({ QueueUrl, MessageBody })),
    );
    const { rows } = await database.pool.query<{ message_id: string; body: string }>(
      `select message_id, body from trunkline.messages
      where queue_id = (select id from trunkline.queues where name = 'fused')`,
    );
    const stored = new Map(rows.map((row) => [row.message_id, row.body]));
    expect(stored.size).toBe(300);
    expect(sent.map(({ MessageId }) => stored.get(MessageId ?? ''))).toEqual(bodies);
    sqs.destroy();
  });

  it('shares out what is there without handing a message to two receivers', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'shared-out' });
    for (let batch = 0; batch < 10; batch += 1) {
      await sqs.sendMessageBatch({
        QueueUrl,
        Entries: Array.from({ length: 10 }, (_, index) => ({
          Id: `${index}`,
          MessageBody: `${batch}-${index}`,
        })),
      });
    }
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 3 })),
    );
    expect(answers.every(({ Messages = [] }) => Messages.length <= 3)).toBe(true);
    const ids = answers.flatMap(({ Messages = [] }) => Messages.map(({ MessageId }) => MessageId));
    expect(ids.length).toBe(100);
    expect(new Set(ids).size).toBe(100);
    sqs.destroy();
  });

  it('keeps the order of a message group under concurrent sends of many groups', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({
      QueueName: 'fused.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    const groups = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(
      groups.map(async (MessageGroupId) => {
        for (let number = 0; number < 20; number += 1) {
          await sqs.sendMessage({
            QueueUrl,
            MessageGroupId,
            MessageBody: `${MessageGroupId} ${number}`,
          });
        }
      }),
    );
    const { rows } = await database.pool.query<{ group_id: string; bodies: string[] }>(
      `select group_id, array_agg(body order by id) as bodies from trunkline.messages
      where queue_id = (select id from trunkline.queues where name = 'fused.fifo')
      group by group_id order by group_id`,
    );
    expect(rows).toEqual(
      groups.map((group) => ({
        group_id: group,
        bodies: Array.from({ length: 20 }, (_, number) => `${group} ${number}`),
      })),
    );
    sqs.destroy();
  });

  it('holds up no other group while a transaction keeps one busy', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({
      QueueName: 'busy.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    const application = await database.pool.connect();
    await application.query('begin');
    await application.query(
      `select trunkline.send_message('busy.fifo', 'from the application', message_group_id => 'busy')`,
    );
    const waiting = Array.from({ length: 20 }, (_, index) =>
      sqs.sendMessage({ QueueUrl, MessageGroupId: 'busy', MessageBody: `waiting ${index}` }),
    );
    await sleep(200);
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        sqs.sendMessage({
          QueueUrl,
          MessageGroupId: `free ${index}`.replace(' ', '-'),
          MessageBody: `free ${index}`,
        }),
      ),
    );
    expect(others.length).toBe(20);
    await application.query('commit');
    application.release();
    await Promise.all(waiting);
    const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 1 });
    expect(Messages[0]?.Body).toBe('from the application');
    sqs.destroy();
  });
});
