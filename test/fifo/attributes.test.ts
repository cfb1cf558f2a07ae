import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { describeOverBothProtocols, refusal } from '../behaviour/both-protocols.ts';
import { createFifoQueue } from './fifo-subject.ts';

describeOverBothProtocols('Attributes of a FIFO queue', (sqs) => {
  it('are answered with their defaults', async () => {
    expect(await sqs.attributes(await createFifoQueue(sqs))).toMatchObject({
      FifoQueue: 'true',
      ContentBasedDeduplication: 'false',
      DeduplicationScope: 'queue',
      FifoThroughputLimit: 'perQueue',
    });
  });

  it('are taken together, and changed later', async () => {
    const highThroughput = {
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    };
    const url = await createFifoQueue(sqs, {
      ...highThroughput,
      ContentBasedDeduplication: 'True',
      DelaySeconds: '7',
    });
    expect(await sqs.attributes(url)).toMatchObject({
      ...highThroughput,
      ContentBasedDeduplication: 'true',
      DelaySeconds: '7',
    });
    const changed = { DeduplicationScope: 'queue', FifoThroughputLimit: 'perQueue' };
    await sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: changed });
    expect(await sqs.attributes(url)).toMatchObject(changed);
  });

  it('include deduplication by group without the limit by group', async () => {
    const url = await createFifoQueue(sqs, { DeduplicationScope: 'messageGroup' });
    expect(await sqs.attributes(url)).toMatchObject({
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perQueue',
    });
  });

  describe('do not include the limit by group without deduplication by group', () => {
    const refused = {
      status: 400,
      message: expect.stringContaining(
        'The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup',
      ),
    };

    it('at creation', async () => {
      for (const scope of [{}, { DeduplicationScope: 'queue' }]) {
        const created = createFifoQueue(sqs, {
          FifoThroughputLimit: 'perMessageGroupId',
          ...scope,
        });
        expect(await refusal(created)).toMatchObject(refused);
      }
    });

    it('by a change of either', async () => {
      const QueueUrl = await createFifoQueue(sqs);
      const limit = { FifoThroughputLimit: 'perMessageGroupId' };
      expect(
        await refusal(sqs.client.setQueueAttributes({ QueueUrl, Attributes: limit })),
      ).toMatchObject(refused);
      await sqs.client.setQueueAttributes({
        QueueUrl,
        Attributes: { ...limit, DeduplicationScope: 'messageGroup' },
      });
      const scope = { DeduplicationScope: 'queue' };
      expect(
        await refusal(sqs.client.setQueueAttributes({ QueueUrl, Attributes: scope })),
      ).toMatchObject(refused);
    });
  });

  it.each([
    ['DeduplicationScope', 'group'],
    ['FifoThroughputLimit', 'perGroup'],
    ['ContentBasedDeduplication', 'yes'],
  ])('do not include %s=%s', async (name, value) => {
    expect(await refusal(createFifoQueue(sqs, { [name]: value }))).toEqual({
      code: 'InvalidAttributeValue',
      status: 400,
      message: `Invalid value for the parameter ${name}.`,
    });
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
  ])('are unknown to a standard queue: %s', async (name, value, message) => {
    expect(await refusal(sqs.createQueue({ [name]: value }))).toEqual({
      code: 'InvalidAttributeName',
      status: 400,
      message,
    });
  });

  it('do not make a FIFO queue a standard one', async () => {
    const QueueUrl = await createFifoQueue(sqs);
    const changed = sqs.client.setQueueAttributes({
      QueueUrl,
      Attributes: { FifoQueue: 'false' },
    });
    expect(await refusal(changed)).toEqual({
      code: 'InvalidAttributeValue',
      status: 400,
      message:
        'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
    });
  });

  it('go with names that end in .fifo, and with no others', async () => {
    const wrong = { code: 'InvalidParameterValue', status: 400 };
    expect(await refusal(sqs.createQueue({ FifoQueue: 'true' }, randomUUID()))).toMatchObject(
      wrong,
    );
    expect(await refusal(sqs.createQueue({}, `${randomUUID()}.fifo`))).toMatchObject(wrong);
  });
});
