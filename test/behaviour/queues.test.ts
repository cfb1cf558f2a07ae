import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { describeOverBothProtocols, present, queueName, refusal } from './both-protocols.ts';

describeOverBothProtocols('Queues', (sqs) => {
  const missingQueueText = {
    JSON: 'The specified queue does not exist.',
    Query: 'The specified queue does not exist for this wsdl version.',
  }[sqs.protocol];
  const missingQueue = {
    code: 'AWS.SimpleQueueService.NonExistentQueue',
    status: 400,
    message: missingQueueText,
  };

  const unknownQueueUrl = () => `${sqs.url}/000000000000/${randomUUID()}`;

  it('answers the URL of a new queue', async () => {
    const name = randomUUID();
    const { QueueUrl } = await sqs.client.createQueue({ QueueName: name });
    expect(QueueUrl).toBe(`${sqs.url}/000000000000/${name}`);
    expect(await sqs.client.getQueueUrl({ QueueName: name })).toMatchObject({ QueueUrl });
  });

  it('finds a queue by name and owner', async () => {
    const url = await sqs.createQueue();
    expect(
      await sqs.client.getQueueUrl({
        QueueName: queueName(url),
        QueueOwnerAWSAccountId: '000000000000',
      }),
    ).toMatchObject({ QueueUrl: url });
    expect(
      await refusal(
        sqs.client.getQueueUrl({
          QueueName: queueName(url),
          QueueOwnerAWSAccountId: '999999999999',
        }),
      ),
    ).toEqual(missingQueue);
  });

  it('takes a bare queue name for its URL', async () => {
    const url = await sqs.createQueue();
    await sqs.send(queueName(url), 'hello');
    expect((await sqs.receiveOne(queueName(url))).Body).toBe('hello');
  });

  it('answers the same queue to the same creation, and to one that names fewer attributes', async () => {
    const name = randomUUID();
    const url = await sqs.createQueue({ DelaySeconds: '7', VisibilityTimeout: '11' }, name);
    await sqs.send(url, 'kept');
    expect(await sqs.createQueue({ DelaySeconds: '7', VisibilityTimeout: '11' }, name)).toBe(url);
    expect(await sqs.createQueue({ VisibilityTimeout: '11' }, name)).toBe(url);
    expect(await sqs.createQueue({}, name)).toBe(url);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 1 });
  });

  it('refuses to create a queue again with another value of an attribute', async () => {
    const name = randomUUID();
    const url = await sqs.createQueue({ DelaySeconds: '7', VisibilityTimeout: '11' }, name);
    expect(
      await refusal(sqs.createQueue({ VisibilityTimeout: '11', DelaySeconds: '8' }, name)),
    ).toEqual({
      code: 'QueueAlreadyExists',
      status: 400,
      message:
        'A queue already exists with the same name and a different value for attribute DelaySeconds',
    });
    // Not given at creation: compared with the default.
    expect(await refusal(sqs.createQueue({ MaximumMessageSize: '1024' }, name))).toMatchObject({
      code: 'QueueAlreadyExists',
    });
    expect(await sqs.attributes(url)).toMatchObject({ DelaySeconds: '7', VisibilityTimeout: '11' });
  });

  it('compares a creation with the attributes that the queue has now', async () => {
    const name = randomUUID();
    const url = await sqs.createQueue({ DelaySeconds: '7' }, name);
    await sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: { DelaySeconds: '8' } });
    expect(await sqs.createQueue({ DelaySeconds: '8' }, name)).toBe(url);
    expect(await refusal(sqs.createQueue({ DelaySeconds: '7' }, name))).toMatchObject({
      code: 'QueueAlreadyExists',
    });
  });

  it('tells queue names that differ in case apart', async () => {
    const lower = `case-${randomUUID()}`;
    const [first, second] = [
      await sqs.createQueue({}, lower),
      await sqs.createQueue({}, lower.toUpperCase()),
    ];
    expect(first).not.toBe(second);
    await sqs.send(first, 'lower');
    expect(await sqs.receive(second)).toEqual([]);
  });

  it('takes names of 80 letters, digits, hyphens and underscores', async () => {
    const name = `${randomUUID()}_Az-09`.padEnd(80, 'x');
    expect(queueName(await sqs.createQueue({}, name))).toBe(name);
  });

  it.each([
    ['81 letters', 'x'.repeat(81)],
    ['a space', 'a queue'],
    ['a slash', 'a/queue'],
    ['a period', 'a.queue'],
    ['a letter with an accent', 'quéue'],
    ['the suffix of FIFO queues on a standard one', 'queue.fifo'],
    ['a trailing line feed', 'queue\n'],
  ])('refuses a name with %s', async (_what, name) => {
    expect(await refusal(sqs.createQueue({}, name))).toEqual({
      code: 'InvalidParameterValue',
      status: 400,
      message:
        'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    });
  });

  it('refuses an empty and a missing name', async () => {
    expect(await refusal(sqs.createQueue({}, ''))).toMatchObject({
      code: 'InvalidParameterValue',
      message: 'Queue name cannot be empty',
    });
    const missing = {
      code: 'InvalidParameterValue',
      message: 'Value for parameter QueueName is invalid. Reason: Must specify a queue name.',
    };
    expect(await refusal(sqs.client.createQueue({ QueueName: undefined }))).toMatchObject(missing);
    expect(await refusal(sqs.client.getQueueUrl({ QueueName: undefined }))).toMatchObject(missing);
  });

  it('says so when a queue does not exist, whatever is asked of it', async () => {
    const QueueUrl = unknownQueueUrl();
    const ReceiptHandle = 'garbage';
    const { client } = sqs;
    const calls = [
      client.getQueueUrl({ QueueName: queueName(QueueUrl) }),
      client.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] }),
      client.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '1' } }),
      client.sendMessage({ QueueUrl, MessageBody: 'x' }),
      client.sendMessageBatch({ QueueUrl, Entries: [{ Id: 'a', MessageBody: 'x' }] }),
      client.receiveMessage({ QueueUrl }),
      client.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }),
      client.deleteMessage({ QueueUrl, ReceiptHandle }),
      client.deleteMessageBatch({ QueueUrl, Entries: [{ Id: 'a', ReceiptHandle }] }),
      client.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 1 }),
      client.changeMessageVisibilityBatch({
        QueueUrl,
        Entries: [{ Id: 'a', ReceiptHandle, VisibilityTimeout: 1 }],
      }),
      client.purgeQueue({ QueueUrl }),
      client.deleteQueue({ QueueUrl }),
    ];
    for (const refused of await Promise.all(calls.map(refusal))) {
      expect(refused).toEqual(missingQueue);
    }
  });

  it('forgets a deleted queue and its messages at once', async () => {
    const name = randomUUID();
    const url = await sqs.createQueue({ VisibilityTimeout: '11' }, name);
    await sqs.send(url, 'lost');
    await sqs.client.deleteQueue({ QueueUrl: url });
    expect(await refusal(sqs.receive(url))).toEqual(missingQueue);
    expect(await refusal(sqs.send(url, 'late'))).toEqual(missingQueue);
    expect((await sqs.client.listQueues({ QueueNamePrefix: name })).QueueUrls).toBeUndefined();

    expect(await sqs.createQueue({ VisibilityTimeout: '12' }, name)).toBe(url);
    expect(await sqs.receive(url)).toEqual([]);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('knows no receipt handle of a deleted queue in the queue that takes its name', async () => {
    const name = randomUUID();
    const url = await sqs.createQueue({}, name);
    await sqs.send(url, 'old');
    const old = await sqs.receiveOne(url);
    await sqs.client.deleteQueue({ QueueUrl: url });
    await sqs.createQueue({}, name);
    await sqs.send(url, 'new');
    expect(await refusal(sqs.delete(url, old))).toMatchObject({ code: 'ReceiptHandleIsInvalid' });
    expect((await sqs.receiveOne(url)).Body).toBe('new');
  });

  it('lists the queues whose names begin with a prefix', async () => {
    const prefix = randomUUID();
    const urls = [
      await sqs.createQueue({}, `${prefix}_b`),
      await sqs.createQueue({}, `${prefix}-a`),
    ];
    await sqs.createQueue({}, `x-${prefix}`);
    const listed = await sqs.client.listQueues({ QueueNamePrefix: prefix });
    expect(present(listed.QueueUrls).toSorted()).toEqual(urls.toSorted());
    expect(listed.NextToken).toBeUndefined();
    // An underscore is no wildcard.
    const underscore = await sqs.client.listQueues({ QueueNamePrefix: `${prefix}_` });
    expect(underscore.QueueUrls).toEqual([urls[0]]);
    expect((await sqs.client.listQueues({})).QueueUrls).toEqual(expect.arrayContaining(urls));
  });

  it('omits the list when no queue matches', async () => {
    const listed = await sqs.client.listQueues({ QueueNamePrefix: randomUUID() });
    expect(listed.QueueUrls).toBeUndefined();
    expect(listed.NextToken).toBeUndefined();
  });

  it('lists every queue once over pages', async () => {
    const prefix = randomUUID();
    const urls: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      urls.push(await sqs.createQueue({}, `${prefix}-${number}`));
    }
    const pages: string[][] = [];
    let NextToken: string | undefined;
    do {
      const page = await sqs.client.listQueues({
        QueueNamePrefix: prefix,
        MaxResults: 2,
        NextToken,
      });
      pages.push(present(page.QueueUrls));
      ({ NextToken } = page);
    } while (NextToken !== undefined && pages.length < 10);
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat().toSorted()).toEqual(urls.toSorted());
  });

  it('gives no token when a page holds the last queue', async () => {
    const prefix = randomUUID();
    await sqs.createQueue({}, `${prefix}-0`);
    await sqs.createQueue({}, `${prefix}-1`);
    const page = await sqs.client.listQueues({ QueueNamePrefix: prefix, MaxResults: 2 });
    expect(page.QueueUrls).toHaveLength(2);
    expect(page.NextToken).toBeUndefined();
  });

  it('lists at most a thousand queues, without a token unless MaxResults is given', async () => {
    const prefix = randomUUID();
    await sqs.database.pool.query(
      `select trunkline._create_queue('000000000000', $1 || number) from generate_series(1, 1001) as number`,
      [prefix],
    );
    const all = await sqs.client.listQueues({ QueueNamePrefix: prefix });
    expect(all.QueueUrls).toHaveLength(1000);
    expect(all.NextToken).toBeUndefined();
    const page = await sqs.client.listQueues({ QueueNamePrefix: prefix, MaxResults: 1000 });
    expect(page.QueueUrls).toHaveLength(1000);
    expect(page.NextToken).toBeDefined();
  });

  it.each([0, -1, 1001])('refuses pages of %d queues', async (MaxResults) => {
    expect(await refusal(sqs.client.listQueues({ MaxResults }))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it('refuses a page token that it did not give out', async () => {
    expect(await refusal(sqs.client.listQueues({ MaxResults: 1, NextToken: '!' }))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });
});

describe('A server that keeps the names of deleted queues', () => {
  const database = useDatabase();
  const server = useServer(database, { deletedNameCooldownSeconds: 60 });

  it('gives a name away again 60 seconds after its queue was deleted', async () => {
    const client = jsonClient(server.url);
    const { QueueUrl } = await client.createQueue({ QueueName: 'again' });
    await client.deleteQueue({ QueueUrl });
    expect(await refusal(client.createQueue({ QueueName: 'again' }))).toEqual({
      code: 'AWS.SimpleQueueService.QueueDeletedRecently',
      status: 400,
      message:
        'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
    });
    await database.pool.query(
      `update trunkline.discarded_queues set discarded_at = discarded_at - interval '60 seconds'`,
    );
    expect((await client.createQueue({ QueueName: 'again' })).QueueUrl).toBe(QueueUrl);
    client.destroy();
  });
});
