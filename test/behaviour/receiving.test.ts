import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { limits } from '../../src/sqs/limits.ts';
import { describeOverBothProtocols, present, queueName, refusal, timed } from './both-protocols.ts';

describeOverBothProtocols('Receiving', (sqs) => {
  async function sendMany(queueUrl: string, count: number): Promise<void> {
    for (let first = 0; first < count; first += 10) {
      await sqs.client.sendMessageBatch({
        QueueUrl: queueUrl,
        Entries: Array.from({ length: Math.min(10, count - first) }, (_, index) => ({
          Id: `${index}`,
          MessageBody: `message ${first + index}`,
        })),
      });
    }
  }

  /** Puts messages into a queue as if somebody had received and not yet deleted them. */
  async function fillInFlight(queueUrl: string, count: number): Promise<void> {
    const client = await sqs.database.pool.connect();
    try {
      await client.query('begin');
      // Counts are folded by transaction id, so every writer has one before it draws the id of a delta.
      await client.query('select pg_current_xact_id()');
      await client.query(
        `with queue as (select id from trunkline.queues where name = $1),
        stored as (
          insert into trunkline.messages (
            queue_id, id, visible_at, sent_at, received_at, first_received_at, receive_count,
            receipt_nonce, message_id, sender_id, body
          )
          select
            queue.id, nextval('trunkline.message_ids'), now() + interval '1 hour', now(), now(), now(),
            1, gen_random_uuid(), gen_random_uuid(), '000000000000', 'x'
          from queue, generate_series(1, $2)
        )
        insert into trunkline.count_deltas (queue_id, added, removed) select id, $2, 0 from queue`,
        [queueName(queueUrl), count],
      );
      await client.query('commit');
    } finally {
      client.release();
    }
  }

  it('gives one message unless more are asked for, and ten at most', async () => {
    const url = await sqs.createQueue();
    await sendMany(url, 12);
    expect(await sqs.receive(url)).toHaveLength(1);
    expect(await sqs.receive(url, { MaxNumberOfMessages: 10 })).toHaveLength(10);
    expect(await sqs.receive(url, { MaxNumberOfMessages: 10 })).toHaveLength(1);
    expect(await sqs.receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
  });

  it('answers no list when there is nothing', async () => {
    const QueueUrl = await sqs.createQueue();
    const { Messages } = await sqs.client.receiveMessage({ QueueUrl });
    expect(Messages).toBeUndefined();
  });

  it('answers id, receipt handle, body and checksum, and nothing that was not asked for', async () => {
    const url = await sqs.createQueue();
    const MessageId = await sqs.send(url, 'hello', {
      MessageAttributes: { Foo: { DataType: 'String', StringValue: 'Bar' } },
    });
    const [message] = await sqs.receive(url);
    expect(JSON.parse(JSON.stringify(message))).toEqual({
      MessageId,
      ReceiptHandle: expect.stringMatching(/^\S{20,}$/),
      Body: 'hello',
      MD5OfBody: '5d41402abc4b2a76b9719d911017c592',
    });
  });

  it.each([
    ['MaxNumberOfMessages', [0, -1, 11], 'Must be between 1 and 10, if provided.'],
    ['WaitTimeSeconds', [-1, 21], 'Must be >= 0 and <= 20, if provided.'],
    ['VisibilityTimeout', [-1, 43_201], 'Must be >= 0 and <= 43200, if provided.'],
  ] as const)('refuses %s of %j', async (name, values, reason) => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x');
    for (const value of values) {
      expect(await refusal(sqs.receive(url, { [name]: value }))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${value} for parameter ${name} is invalid. Reason: ${reason}`,
      });
    }
    expect(await sqs.counts(url)).toMatchObject({ visible: 1 });
  });

  it('tells sender, times and count of receives', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '0' });
    const startedAtMs = Date.now();
    await sqs.send(url, 'x');
    const sentAtMs = Date.now();
    const first = await sqs.receiveOne(url, { AttributeNames: ['All'] });
    expect(first.Attributes).toEqual({
      SenderId: expect.any(String),
      SentTimestamp: expect.stringMatching(/^\d{13}$/),
      ApproximateReceiveCount: '1',
      ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
    });
    const { SentTimestamp, ApproximateFirstReceiveTimestamp } = present(first.Attributes);
    // The database's clock has a finer grain than this one.
    expect(Number(SentTimestamp)).toBeGreaterThanOrEqual(startedAtMs - 1);
    expect(Number(SentTimestamp)).toBeLessThanOrEqual(sentAtMs + 1);
    expect(Number(ApproximateFirstReceiveTimestamp)).toBeGreaterThanOrEqual(Number(SentTimestamp));

    await sleep(5);
    const second = await sqs.receiveOne(url, { AttributeNames: ['All'] });
    expect(second.Attributes).toEqual({ ...first.Attributes, ApproximateReceiveCount: '2' });
    expect(second.ReceiptHandle).not.toBe(first.ReceiptHandle);
  });

  it('tells the system attributes asked for, and passes over those that do not apply', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '0' });
    await sqs.send(url, 'x');
    const asked = async (...AttributeNames: string[]) => {
      // Names of messages where the older API's type has names of queues.
      const options = { AttributeNames: AttributeNames as 'All'[] };
      const { Attributes } = await sqs.receiveOne(url, options);
      return Attributes && Object.keys(Attributes).toSorted();
    };
    expect(await asked('SenderId')).toEqual(['SenderId']);
    expect(await asked('SentTimestamp', 'SequenceNumber', 'ApproximateReceiveCount')).toEqual([
      'ApproximateReceiveCount',
      'SentTimestamp',
    ]);
    expect(await asked('SequenceNumber', 'MessageDeduplicationId', 'AWSTraceHeader')).toBe(
      undefined,
    );
  });

  it('passes over the attempt id of FIFO queues', async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x');
    const attempt = { ReceiveRequestAttemptId: 'attempt' };
    expect(await sqs.receive(url, attempt)).toHaveLength(1);
    expect(await sqs.receive(url, attempt)).toEqual([]);
  });

  it('gives no message twice in one answer, also with a timeout of 0', async () => {
    const url = await sqs.createQueue();
    await sendMany(url, 5);
    for (let receive = 1; receive <= 3; receive += 1) {
      const messages = await sqs.receive(url, { MaxNumberOfMessages: 10, VisibilityTimeout: 0 });
      const bodies = messages.map(({ Body }) => Body).toSorted();
      expect(bodies).toEqual([0, 1, 2, 3, 4].map((number) => `message ${number}`));
    }
  });

  it('gives the longest visible messages first', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '1' });
    await sqs.send(url, 'first');
    await sqs.receiveOne(url);
    await sleep(1_050);
    await sqs.send(url, 'second');
    expect((await sqs.receiveOne(url)).Body).toBe('first');
  });

  it('does not give messages that are older than the retention period', async () => {
    const url = await sqs.createQueue({ MessageRetentionPeriod: '60' });
    await sqs.send(url, 'old');
    await sqs.age(url, '60 seconds');
    await sqs.send(url, 'young');
    await sqs.age(url, '58 seconds');
    const [message, ...others] = await sqs.receive(url, { MaxNumberOfMessages: 10 });
    expect(message?.Body).toBe('young');
    expect(others).toEqual([]);
  });

  it('hands each message to one of many receivers', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sendMany(url, 200);
    const receiver = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (;;) {
        const messages = await sqs.receive(url, { MaxNumberOfMessages: 10 });
        if (messages.length === 0) {
          return ids;
        }
        ids.push(...messages.map(({ MessageId }) => present(MessageId)));
      }
    };
    const ids = (await Promise.all(Array.from({ length: 10 }, receiver))).flat();
    // A receiver passes over what another one is just taking, so the last few may need one more look.
    ids.push(...(await receiver()));
    expect(ids).toHaveLength(200);
    expect(new Set(ids).size).toBe(200);
  });

  it('sees a message from the commit of its sender on', async () => {
    const url = await sqs.createQueue();
    const sender = await sqs.database.pool.connect();
    try {
      await sender.query('begin');
      await sender.query(`select trunkline.send_message($1, 'hello')`, [queueName(url)]);
      expect(await sqs.receive(url)).toEqual([]);
      await sender.query('commit');
    } finally {
      sender.release();
    }
    expect((await sqs.receiveOne(url)).Body).toBe('hello');
  });

  it('gets the messages of a receiver whose transaction was rolled back', async () => {
    const url = await sqs.createQueue();
    await sendMany(url, 3);
    const receiver = await sqs.database.pool.connect();
    try {
      await receiver.query('begin');
      const { rows } = await receiver.query('select * from trunkline.receive_message($1, 10)', [
        queueName(url),
      ]);
      expect(rows).toHaveLength(3);
      // Passed over, not waited for.
      expect(await sqs.receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
      await receiver.query('rollback');
    } finally {
      receiver.release();
    }
    const messages = await sqs.receive(url, { MaxNumberOfMessages: 10, AttributeNames: ['All'] });
    expect(messages.map(({ Attributes }) => Attributes?.ApproximateReceiveCount)).toEqual([
      '1',
      '1',
      '1',
    ]);
  });

  it('stops at the quota of messages in flight', async () => {
    const url = await sqs.createQueue();
    await fillInFlight(url, limits.inFlightMessagesStandard - 1);
    await sendMany(url, 3);
    const last = await sqs.receiveOne(url, { MaxNumberOfMessages: 10 });
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 120_000, delayed: 0 });

    expect(await refusal(sqs.receive(url))).toMatchObject({ code: 'OverLimit', status: 403 });
    const { answer, tookMs } = await timed(() => sqs.receive(url, { WaitTimeSeconds: 1 }));
    expect(answer).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(990);

    // Stored messages have no quota, and every one that leaves flight makes room for another.
    await sqs.send(url, 'one more');
    await sqs.change(url, last, 0);
    const another = await sqs.receiveOne(url, { MaxNumberOfMessages: 10 });
    expect(await sqs.counts(url)).toEqual({ visible: 3, inFlight: 120_000, delayed: 0 });
    await sqs.delete(url, another);
    await sqs.receiveOne(url, { MaxNumberOfMessages: 10 });
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 120_000, delayed: 0 });
  });
});
