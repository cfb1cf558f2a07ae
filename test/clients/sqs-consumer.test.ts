import { setTimeout as sleep } from 'node:timers/promises';
import { Consumer } from 'sqs-consumer';
import { expect, it, vi } from 'vitest';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const server = useServer(useDatabase());

it('sqs-consumer handles every message once, also slowly, while its heartbeat runs', async () => {
  const sqs = jsonClient(server.url);
  const { QueueUrl: queueUrl = '' } = await sqs.createQueue({ QueueName: 'work' });
  const bodies = Array.from({ length: 300 }, (_, index) => `message ${index}`);
  const slowBodies = new Set(['message 0', 'message 1', 'message 2']);
  for (let first = 0; first < bodies.length; first += 10) {
    const Entries = bodies
      .slice(first, first + 10)
      .map((MessageBody, index) => ({ Id: `${index}`, MessageBody }));
    await sqs.sendMessageBatch({ QueueUrl: queueUrl, Entries });
  }

  const handled: string[] = [];
  const errors: unknown[] = [];
  const consumers = [1, 2, 3].map(() => {
    const consumer = Consumer.create({
      queueUrl,
      sqs,
      batchSize: 10,
      visibilityTimeout: 2,
      heartbeatInterval: 1,
      waitTimeSeconds: 1,
      async handleMessage(message) {
        const { Body: body = '' } = message;
        if (slowBodies.has(body)) {
          // Longer than the timeout, and not so long that it ends together with a beat.
          await sleep(2_500);
        }
        handled.push(body);
        return message;
      },
    });
    const noteError = (error: Error) => {
      errors.push(error);
    };
    consumer.on('error', noteError);
    consumer.on('processing_error', noteError);
    consumer.on('timeout_error', noteError);
    return consumer;
  });
  for (const consumer of consumers) {
    consumer.start();
  }
  try {
    const attributes = () =>
      sqs.getQueueAttributes({ QueueUrl: queueUrl, AttributeNames: ['All'] });
    await vi.waitFor(
      async () => {
        expect((await attributes()).Attributes).toMatchObject({
          ApproximateNumberOfMessages: '0',
          ApproximateNumberOfMessagesNotVisible: '0',
        });
      },
      { timeout: 25_000, interval: 200 },
    );
  } finally {
    await Promise.all(
      consumers.map(async (consumer) => {
        const stopped = new Promise((resolve) => consumer.once('stopped', resolve));
        consumer.stop({ abort: true });
        await stopped;
      }),
    );
    sqs.destroy();
  }
  expect(errors).toEqual([]);
  expect(handled.toSorted()).toEqual(bodies.toSorted());
});
