import { setTimeout as sleep } from 'node:timers/promises';
import { QueueAttributeName } from '@aws-sdk/client-sqs';
import { expect, it, vi } from 'vitest';
import { describeOverBothProtocols, queueName, refusal } from './both-protocols.ts';

const integerAttributes = [
  { name: 'VisibilityTimeout', minimum: 0, maximum: 43_200 },
  { name: 'DelaySeconds', minimum: 0, maximum: 900 },
  { name: 'MaximumMessageSize', minimum: 1_024, maximum: 1_048_576 },
  { name: 'MessageRetentionPeriod', minimum: 60, maximum: 1_209_600 },
  { name: 'ReceiveMessageWaitTimeSeconds', minimum: 0, maximum: 20 },
];

describeOverBothProtocols('Queue attributes', (sqs) => {
  it('are the documented ones with their defaults', async () => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const url = await sqs.createQueue();
    const attributes = await sqs.attributes(url);
    expect(attributes).toEqual({
      QueueArn: `arn:aws:sqs:us-east-1:000000000000:${queueName(url)}`,
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '0',
      ApproximateNumberOfMessagesDelayed: '0',
      CreatedTimestamp: expect.stringMatching(/^\d{10}$/),
      LastModifiedTimestamp: expect.stringMatching(/^\d{10}$/),
      VisibilityTimeout: '30',
      MaximumMessageSize: '1048576',
      MessageRetentionPeriod: '345600',
      DelaySeconds: '0',
      ReceiveMessageWaitTimeSeconds: '0',
      SqsManagedSseEnabled: 'true',
    });
    expect(Number(attributes['CreatedTimestamp'])).toBeGreaterThanOrEqual(nowSeconds - 1);
    expect(Number(attributes['CreatedTimestamp'])).toBeLessThanOrEqual(nowSeconds + 2);
    expect(attributes['LastModifiedTimestamp']).toBe(attributes['CreatedTimestamp']);
  });

  it('are answered as asked for', async () => {
    const QueueUrl = await sqs.createQueue();
    const { client } = sqs;
    const two = await client.getQueueAttributes({
      QueueUrl,
      AttributeNames: ['DelaySeconds', 'QueueArn'],
    });
    expect(Object.keys(two.Attributes ?? {}).toSorted()).toEqual(['DelaySeconds', 'QueueArn']);
    // A known attribute that this queue does not have.
    const none = await client.getQueueAttributes({ QueueUrl, AttributeNames: ['RedrivePolicy'] });
    expect(none.Attributes).toBeUndefined();
    for (const AttributeNames of [undefined, []]) {
      const answered = await client.getQueueAttributes({ QueueUrl, AttributeNames });
      expect(answered.Attributes).toBeUndefined();
    }
  });

  it('are all known by the names of the API', async () => {
    const QueueUrl = await sqs.createQueue();
    await expect(
      sqs.client.getQueueAttributes({
        QueueUrl,
        AttributeNames: Object.values(QueueAttributeName),
      }),
    ).resolves.toBeDefined();
  });

  it('are refused by a name that no queue has', async () => {
    const QueueUrl = await sqs.createQueue();
    const Attributes = { DelaySeconds: '1', Colour: 'blue' };
    const unknown = {
      code: 'InvalidAttributeName',
      status: 400,
      message: 'Unknown Attribute Colour.',
    };
    expect(await refusal(sqs.client.setQueueAttributes({ QueueUrl, Attributes }))).toEqual(unknown);
    expect(await refusal(sqs.createQueue(Attributes))).toEqual(unknown);
    expect(
      await refusal(
        // The name is not one that the SDK's type allows.
        sqs.client.getQueueAttributes({ QueueUrl, AttributeNames: ['Colour' as 'All'] }),
      ),
    ).toEqual(unknown);
    expect(await sqs.attributes(QueueUrl)).toMatchObject({ DelaySeconds: '0' });
  });

  it.each(['QueueArn', 'ApproximateNumberOfMessages', 'CreatedTimestamp'])(
    'cannot be set when they are read-only: %s',
    async (name) => {
      expect(await refusal(sqs.createQueue({ [name]: '1' }))).toMatchObject({
        code: 'InvalidAttributeName',
        status: 400,
      });
    },
  );

  it('keep their values unless set', async () => {
    const QueueUrl = await sqs.createQueue({ DelaySeconds: '7', VisibilityTimeout: '11' });
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { VisibilityTimeout: '12' } });
    expect(await sqs.attributes(QueueUrl)).toMatchObject({
      DelaySeconds: '7',
      VisibilityTimeout: '12',
    });
  });

  it('tell when they were last set', async () => {
    const QueueUrl = await sqs.createQueue();
    await sqs.database.pool.query(
      `update trunkline.queues
      set created_at = created_at - interval '1 hour', modified_at = modified_at - interval '1 hour'
      where name = $1`,
      [queueName(QueueUrl)],
    );
    const before = await sqs.attributes(QueueUrl);
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '1' } });
    const after = await sqs.attributes(QueueUrl);
    expect(after['CreatedTimestamp']).toBe(before['CreatedTimestamp']);
    const grownSeconds =
      Number(after['LastModifiedTimestamp']) - Number(before['LastModifiedTimestamp']);
    expect(grownSeconds).toBeGreaterThanOrEqual(3_599);
    expect(grownSeconds).toBeLessThanOrEqual(3_630);
  });

  it('must be given to be set', async () => {
    const QueueUrl = await sqs.createQueue();
    expect(await refusal(sqs.client.setQueueAttributes({ QueueUrl, Attributes: {} }))).toEqual({
      code: 'MissingParameter',
      status: 400,
      message: 'The request must contain the parameter Attribute.Name.',
    });
  });

  it.each(integerAttributes)(
    'take $name from $minimum to $maximum',
    async ({ name, minimum, maximum }) => {
      const url = await sqs.createQueue({ [name]: String(minimum) });
      expect((await sqs.attributes(url))[name]).toBe(String(minimum));
      await sqs.client.setQueueAttributes({
        QueueUrl: url,
        Attributes: { [name]: String(maximum) },
      });
      expect((await sqs.attributes(url))[name]).toBe(String(maximum));

      const wrong = [
        String(minimum - 1),
        String(maximum + 1),
        '',
        ' 70',
        '70.5',
        'many',
        '99999999999',
      ];
      const refusals = wrong.flatMap((value) => [
        refusal(sqs.createQueue({ [name]: value })),
        refusal(sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: { [name]: value } })),
      ]);
      for (const refused of await Promise.all(refusals)) {
        expect(refused).toEqual({
          code: 'InvalidAttributeValue',
          status: 400,
          message: `Invalid value for the parameter ${name}.`,
        });
      }
      expect((await sqs.attributes(url))[name]).toBe(String(maximum));
    },
  );

  it('take flags in any capitalisation and answer lower case', async () => {
    const QueueUrl = await sqs.createQueue({ SqsManagedSseEnabled: 'False' });
    expect(await sqs.attributes(QueueUrl)).toMatchObject({ SqsManagedSseEnabled: 'false' });
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { SqsManagedSseEnabled: 'TRUE' } });
    expect(await sqs.attributes(QueueUrl)).toMatchObject({ SqsManagedSseEnabled: 'true' });
    expect(await refusal(sqs.createQueue({ SqsManagedSseEnabled: 'yes' }))).toEqual({
      code: 'InvalidAttributeValue',
      status: 400,
      message: 'Invalid value for the parameter SqsManagedSseEnabled.',
    });
  });

  it('turn the managed encryption off with a KMS key, and not on again without it', async () => {
    const QueueUrl = await sqs.createQueue({ KmsMasterKeyId: 'alias/key' });
    expect(await sqs.attributes(QueueUrl)).toMatchObject({
      KmsMasterKeyId: 'alias/key',
      KmsDataKeyReusePeriodSeconds: '300',
      SqsManagedSseEnabled: 'false',
    });
    await sqs.client.setQueueAttributes({
      QueueUrl,
      Attributes: { KmsMasterKeyId: '', KmsDataKeyReusePeriodSeconds: '300' },
    });
    const attributes = await sqs.attributes(QueueUrl);
    expect(attributes).toMatchObject({ SqsManagedSseEnabled: 'false' });
    expect(attributes).not.toHaveProperty('KmsMasterKeyId');
    expect(attributes).not.toHaveProperty('KmsDataKeyReusePeriodSeconds');
  });

  it('hold one kind of encryption at a time', async () => {
    expect(
      await refusal(sqs.createQueue({ KmsMasterKeyId: 'alias/key', SqsManagedSseEnabled: 'true' })),
    ).toEqual({
      code: 'InvalidAttributeName',
      status: 400,
      message:
        'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
    });
  });

  it('take a data key reuse period from 60 to 86400 seconds', async () => {
    const url = await sqs.createQueue({
      KmsMasterKeyId: 'alias/key',
      KmsDataKeyReusePeriodSeconds: '60',
    });
    expect(await sqs.attributes(url)).toMatchObject({ KmsDataKeyReusePeriodSeconds: '60' });
    for (const value of ['59', '86401']) {
      expect(await refusal(sqs.createQueue({ KmsDataKeyReusePeriodSeconds: value }))).toEqual({
        code: 'InvalidAttributeValue',
        status: 400,
        message: 'Invalid value for the parameter KmsDataKeyReusePeriodSeconds.',
      });
    }
  });

  it.each([
    ['FifoQueue', 'false', 'Unknown Attribute FifoQueue.'],
    ['ContentBasedDeduplication', 'false', 'Unknown Attribute ContentBasedDeduplication.'],
    [
      'DeduplicationScope',
      'queue',
      'You can specify the DeduplicationScope only when FifoQueue is set to true.',
    ],
    [
      'FifoThroughputLimit',
      'perQueue',
      'You can specify the FifoThroughputLimit only when FifoQueue is set to true.',
    ],
  ])('do not include %s on a standard queue', async (name, value, message) => {
    const refused = { code: 'InvalidAttributeName', status: 400, message };
    expect(await refusal(sqs.createQueue({ [name]: value }))).toEqual(refused);
    const QueueUrl = await sqs.createQueue();
    expect(
      await refusal(sqs.client.setQueueAttributes({ QueueUrl, Attributes: { [name]: value } })),
    ).toEqual(refused);
  });

  it('keep a policy as it was given, until it is set empty', async () => {
    const Policy = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: '*', Action: 'sqs:SendMessage', Resource: '*' }],
    });
    const QueueUrl = await sqs.createQueue({ Policy });
    expect((await sqs.attributes(QueueUrl))['Policy']).toBe(Policy);
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { Policy: '' } });
    expect(await sqs.attributes(QueueUrl)).not.toHaveProperty('Policy');
    for (const wrong of ['badjson', '[]', '"string"', '533']) {
      expect(await refusal(sqs.createQueue({ Policy: wrong }))).toEqual({
        code: 'InvalidAttributeValue',
        status: 400,
        message: 'Invalid value for the parameter Policy.',
      });
    }
  });

  it('keep a redrive policy with its count as a number, until it is set empty', async () => {
    const deadLetters = await sqs.createQueue();
    const { QueueArn: deadLetterTargetArn } = await sqs.attributes(deadLetters);
    const RedrivePolicy = JSON.stringify({ maxReceiveCount: '42', deadLetterTargetArn });
    const QueueUrl = await sqs.createQueue({ RedrivePolicy });
    const attributes = await sqs.attributes(QueueUrl);
    expect(JSON.parse(String(attributes['RedrivePolicy']))).toEqual({
      deadLetterTargetArn,
      maxReceiveCount: 42,
    });
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { RedrivePolicy: '' } });
    expect(await sqs.attributes(QueueUrl)).not.toHaveProperty('RedrivePolicy');
  });

  it.each([
    ['no JSON', 'nothing'],
    ['a list', '[]'],
    ['no target', JSON.stringify({ maxReceiveCount: 1 })],
    ['no count', JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:x' })],
    ['a target that is no ARN', JSON.stringify({ maxReceiveCount: 1, deadLetterTargetArn: 'x' })],
    [
      'a target that does not exist',
      JSON.stringify({
        maxReceiveCount: 1,
        deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:does-not-exist',
      }),
    ],
    ...[0, 1001, 'invalid'].map((maxReceiveCount) => [
      `${maxReceiveCount} for its count`,
      JSON.stringify({
        maxReceiveCount,
        deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:x',
      }),
    ]),
  ])('refuse a redrive policy with %s', async (_what, RedrivePolicy) => {
    expect(await refusal(sqs.createQueue({ RedrivePolicy: String(RedrivePolicy) }))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it('keep a redrive allow policy, and refuse one that contradicts itself', async () => {
    const sourceQueueArns = ['arn:aws:sqs:us-east-1:000000000000:source'];
    const byQueue = { redrivePermission: 'byQueue', sourceQueueArns };
    const url = await sqs.createQueue({ RedriveAllowPolicy: JSON.stringify(byQueue) });
    const attributes = await sqs.attributes(url);
    expect(JSON.parse(String(attributes['RedriveAllowPolicy']))).toEqual(byQueue);
    const wrong = [
      { redrivePermission: 'byQueue' },
      { redrivePermission: 'allowAll', sourceQueueArns },
      { redrivePermission: 'byQueue', sourceQueueArns: Array(11).fill(sourceQueueArns[0]) },
      { redrivePermission: 'sometimes' },
    ];
    for (const policy of wrong) {
      expect(
        await refusal(sqs.createQueue({ RedriveAllowPolicy: JSON.stringify(policy) })),
      ).toMatchObject({ code: 'InvalidParameterValue', status: 400 });
    }
  });

  it('hold for what is sent and received after they were set', async () => {
    const QueueUrl = await sqs.createQueue({ VisibilityTimeout: '0' });
    await sqs.send(QueueUrl, 'x'.repeat(1_025));
    await sqs.client.setQueueAttributes({
      QueueUrl,
      Attributes: { VisibilityTimeout: '60', DelaySeconds: '600', MaximumMessageSize: '1024' },
    });
    expect(await refusal(sqs.send(QueueUrl, 'x'.repeat(1_025)))).toMatchObject({
      code: 'InvalidParameterValue',
    });
    await sqs.send(QueueUrl, 'delayed');
    await sqs.receiveOne(QueueUrl, { MaxNumberOfMessages: 10 });
    expect(await sqs.receive(QueueUrl)).toEqual([]);
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 1, delayed: 1 });
  });

  it('shorten the life of messages that are there already', async () => {
    const QueueUrl = await sqs.createQueue({ VisibilityTimeout: '0' });
    await sqs.send(QueueUrl, 'old');
    await sqs.age(QueueUrl, '61 seconds');
    expect(await sqs.receive(QueueUrl)).toHaveLength(1);
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { MessageRetentionPeriod: '60' } });
    expect(await sqs.receive(QueueUrl)).toEqual([]);
  });

  it('count visible, in-flight and delayed messages exactly', async () => {
    const url = await sqs.createQueue();
    for (let number = 0; number < 6; number += 1) {
      await sqs.send(url, `message ${number}`, number < 2 ? { DelaySeconds: 600 } : {});
    }
    expect(await sqs.counts(url)).toEqual({ visible: 4, inFlight: 0, delayed: 2 });
    const [first] = await sqs.receive(url, { MaxNumberOfMessages: 1 });
    await sqs.receiveOne(url);
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 2, delayed: 2 });
    await sqs.delete(url, { ReceiptHandle: String(first?.ReceiptHandle) });
    const third = await sqs.receiveOne(url);
    await sqs.change(url, third, 0);
    const counts = { visible: 2, inFlight: 1, delayed: 2 };
    expect(await sqs.counts(url)).toEqual(counts);

    // Counts are kept as deltas that the server folds into a total in the background.
    await vi.waitFor(
      async () => {
        const { rows } = await sqs.database.pool.query(
          `select from trunkline.count_deltas as delta
          join trunkline.queues as queue on queue.id = delta.queue_id
          where queue.name = $1`,
          [queueName(url)],
        );
        expect(rows).toHaveLength(0);
      },
      { timeout: 10_000, interval: 100 },
    );
    expect(await sqs.counts(url)).toEqual(counts);
  });

  it('count a message as visible again when its timeout or delay is over', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '1' });
    await sqs.send(url, 'received');
    await sqs.receiveOne(url);
    await sqs.send(url, 'delayed', { DelaySeconds: 1 });
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 1 });
    await sleep(1_050);
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 0, delayed: 0 });
  });
});
