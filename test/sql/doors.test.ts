import type { SQS } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { present, refusal } from '../behaviour/both-protocols.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { call, createQueue, deleteMessage, only, receive, receiveOne, send } from './door.ts';

const database = useDatabase();
const { pool } = database;
const server = useServer(database);
let sqs: SQS;
beforeAll(() => {
  sqs = jsonClient(server.url);
});
afterAll(() => sqs.destroy());

const body = 'Grüße €𝄞 <&>"\'\r\n\t';
const binary = Uint8Array.from([0, 1, 254, 255]);
const attributes = {
  Zähler: { DataType: 'Number', StringValue: '-12.5e3' },
  text: { DataType: 'String.json', StringValue: '{"ä": 1}' },
  bytes: { DataType: 'Binary', BinaryValue: Buffer.from(binary).toString('base64') },
};
const sdkAttributes = { ...attributes, bytes: { DataType: 'Binary', BinaryValue: binary } };
const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1';

async function queueUrl(queueName: string): Promise<string> {
  const { QueueUrl } = await sqs.getQueueUrl({ QueueName: queueName });
  return present(QueueUrl);
}

async function receiveOverHttp(queueName: string, limit = 10) {
  const { Messages = [] } = await sqs.receiveMessage({
    QueueUrl: await queueUrl(queueName),
    MaxNumberOfMessages: limit,
    AttributeNames: ['All'],
    MessageAttributeNames: ['All'],
  });
  return Messages;
}

const kinds = [
  { kind: 'standard', queue: {}, fifo: undefined },
  {
    kind: 'FIFO',
    queue: { FifoQueue: true },
    fifo: { message_group_id: 'group', message_deduplication_id: 'first' },
  },
];

describe.each(kinds)('on a $kind queue', ({ queue, fifo }) => {
  const sdkFifo = fifo && {
    MessageGroupId: fifo.message_group_id,
    MessageDeduplicationId: fifo.message_deduplication_id,
  };

  it('a message sent by SQL is received by the SDK as it was', async () => {
    const name = await createQueue(pool, queue);
    const sent = await send(pool, name, body, {
      message_attributes: JSON.stringify(attributes),
      trace_header: trace,
      ...fifo,
    });
    // The SDK checks the MD5 of the body; that of the attributes is checked here.
    const received = only(await receiveOverHttp(name));
    expect(received).toMatchObject({
      MessageId: sent.message_id,
      Body: body,
      MD5OfBody: sent.md5_of_message_body,
      MD5OfMessageAttributes: sent.md5_of_message_attributes,
      MessageAttributes: sdkAttributes,
      Attributes: {
        AWSTraceHeader: trace,
        SenderId: '000000000000',
        ApproximateReceiveCount: '1',
        ...(sdkFifo && { ...sdkFifo, SequenceNumber: sent.sequence_number }),
      },
    });
    expect(Object.keys(received.Attributes ?? {}).length).toBe(fifo ? 8 : 5);
  });

  it('a message sent by the SDK is received by SQL as it was', async () => {
    const name = await createQueue(pool, queue);
    const sent = await sqs.sendMessage({
      QueueUrl: await queueUrl(name),
      MessageBody: body,
      MessageAttributes: sdkAttributes,
      MessageSystemAttributes: {
        AWSTraceHeader: { DataType: 'String', StringValue: trace },
      },
      ...sdkFifo,
    });
    expect(await receiveOne(pool, name)).toMatchObject({
      message_id: sent.MessageId,
      body,
      md5_of_body: sent.MD5OfMessageBody,
      message_attributes: attributes,
      md5_of_message_attributes: sent.MD5OfMessageAttributes,
      trace_header: trace,
      sender_id: '000000000000',
      receive_count: 1,
      message_group_id: fifo?.message_group_id ?? null,
      message_deduplication_id: fifo?.message_deduplication_id ?? null,
      sequence_number: sent.SequenceNumber ?? null,
    });
  });

  it('answers the same checksums by both doors', async () => {
    const name = await createQueue(pool, queue);
    const bySql = await send(pool, name, body, {
      message_attributes: JSON.stringify(attributes),
      ...fifo,
    });
    const bySdk = await sqs.sendMessage({
      QueueUrl: await queueUrl(name),
      MessageBody: body,
      MessageAttributes: sdkAttributes,
      ...(sdkFifo && { ...sdkFifo, MessageDeduplicationId: 'another' }),
    });
    expect(bySql).toMatchObject({
      md5_of_message_body: bySdk.MD5OfMessageBody,
      md5_of_message_attributes: bySdk.MD5OfMessageAttributes,
    });
  });

  it('a handle of the one door works at the other', async () => {
    const name = await createQueue(pool, queue);
    const QueueUrl = await queueUrl(name);
    await send(pool, name, 'a', fifo);
    const bySdk = only(await receiveOverHttp(name));
    await call(pool, 'change_message_visibility', {
      queue_name: name,
      receipt_handle: bySdk.ReceiptHandle,
      visibility_timeout: '0',
    });
    const bySql = await receiveOne(pool, name);
    expect(bySql).toMatchObject({ body: 'a', receive_count: 2 });
    await sqs.changeMessageVisibility({
      QueueUrl,
      ReceiptHandle: bySql.receipt_handle,
      VisibilityTimeout: 0,
    });
    const again = only(await receiveOverHttp(name));
    expect(again.Attributes).toMatchObject({ ApproximateReceiveCount: '3' });
    await deleteMessage(pool, name, present(again.ReceiptHandle));

    await sqs.sendMessage({
      QueueUrl,
      MessageBody: 'b',
      ...(sdkFifo && { ...sdkFifo, MessageDeduplicationId: 'second' }),
    });
    const { receipt_handle: ReceiptHandle } = await receiveOne(pool, name);
    await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
    const [attributesBySql] = await call<{ get_queue_attributes: Record<string, string> }>(
      pool,
      'get_queue_attributes',
      { queue_name: name },
    );
    const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
    expect(attributesBySql?.get_queue_attributes).toEqual(Attributes);
    expect(Attributes).toMatchObject({
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '0',
    });
  });

  it('a queue made, listed, changed, purged and deleted by SQL is that of HTTP', async () => {
    const name = await createQueue(pool, { ...queue, VisibilityTimeout: 7 });
    const QueueUrl = await queueUrl(name);
    await call(pool, 'set_queue_attributes', {
      queue_name: name,
      attributes: '{"MessageRetentionPeriod": "3600"}',
    });
    expect(
      (await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] })).Attributes,
    ).toMatchObject({ VisibilityTimeout: '7', MessageRetentionPeriod: '3600' });
    expect(await call(pool, 'list_queues', { queue_name_prefix: name })).toEqual([
      { list_queues: name },
    ]);
    await sqs.sendMessage({ QueueUrl, MessageBody: 'a', ...sdkFifo });
    await call(pool, 'purge_queue', { queue_name: name });
    expect(await receiveOverHttp(name)).toEqual([]);
    await expect(call(pool, 'purge_queue', { queue_name: name })).rejects.toMatchObject({
      code: 'TQ003',
    });
    await call(pool, 'delete_queue', { queue_name: name });
    expect(await refusal(sqs.purgeQueue({ QueueUrl }))).toMatchObject({
      code: 'AWS.SimpleQueueService.NonExistentQueue',
    });
    await expect(send(pool, name, 'a', fifo)).rejects.toMatchObject({ code: 'TQ001' });
  });
});

it('a poll that waits over HTTP gets a message that a transaction commits', async () => {
  const name = await createQueue(pool);
  const poll = sqs.receiveMessage({ QueueUrl: await queueUrl(name), WaitTimeSeconds: 20 });
  const client = await pool.connect();
  await client.query('begin');
  const { message_id } = await send(client, name, 'a');
  await client.query('commit');
  client.release();
  expect(only((await poll).Messages ?? [])).toMatchObject({ MessageId: message_id, Body: 'a' });
});

describe('deduplication', () => {
  it('knows the ids of both doors, and answers those of the first send', async () => {
    const name = await createQueue(pool, { FifoQueue: true });
    const QueueUrl = await queueUrl(name);
    const first = await send(pool, name, 'a', {
      message_group_id: 'g',
      message_deduplication_id: 'sql',
    });
    expect(
      await sqs.sendMessage({
        QueueUrl,
        MessageBody: 'again',
        MessageGroupId: 'h',
        MessageDeduplicationId: 'sql',
      }),
    ).toMatchObject({ MessageId: first.message_id, SequenceNumber: first.sequence_number });
    const second = await sqs.sendMessage({
      QueueUrl,
      MessageBody: 'b',
      MessageGroupId: 'g',
      MessageDeduplicationId: 'sdk',
    });
    expect(
      await send(pool, name, 'again', { message_group_id: 'g', message_deduplication_id: 'sdk' }),
    ).toMatchObject({ message_id: second.MessageId, sequence_number: second.SequenceNumber });
    expect((await receiveOverHttp(name)).map(({ Body }) => Body)).toEqual(['a', 'b']);
  });

  it('makes the same id of the content at both doors', async () => {
    const name = await createQueue(pool, { FifoQueue: true, ContentBasedDeduplication: true });
    const { message_id } = await send(pool, name, body, { message_group_id: 'g' });
    expect(
      await sqs.sendMessage({
        QueueUrl: await queueUrl(name),
        MessageBody: body,
        MessageGroupId: 'g',
      }),
    ).toMatchObject({ MessageId: message_id });
    expect(await receive(pool, name, { max_number_of_messages: 10 })).toHaveLength(1);
  });
});

it('keeps the order of a group over both doors', async () => {
  const name = await createQueue(pool, { FifoQueue: true, ContentBasedDeduplication: true });
  const QueueUrl = await queueUrl(name);
  const bodies = Array.from({ length: 20 }, (_, number) => `m${number}`);
  for (const [index, MessageBody] of bodies.entries()) {
    if (index % 2 === 0) {
      await send(pool, name, MessageBody, { message_group_id: 'g' });
    } else {
      await sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId: 'g' });
    }
  }
  const received: string[] = [];
  while (received.length < bodies.length) {
    if (received.length % 4 === 0) {
      const messages = await receive(pool, name, { max_number_of_messages: 2 });
      expect(messages).toHaveLength(2);
      received.push(...messages.map((message) => message.body));
      await call(pool, 'delete_message_batch', {
        queue_name: name,
        receipt_handles: messages.map((message) => message.receipt_handle),
      });
    } else {
      const messages = await receiveOverHttp(name, 2);
      expect(messages).toHaveLength(2);
      received.push(...messages.map((message) => present(message.Body)));
      for (const { ReceiptHandle } of messages) {
        await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
      }
    }
  }
  expect(received).toEqual(bodies);
});

it('counts the messages in flight of both doors against the same quota', async () => {
  const name = await createQueue(pool);
  await pool.query('update trunkline.settings set in_flight_limit_standard = 2');
  for (const number of [1, 2, 3]) {
    await send(pool, name, `m${number}`);
  }
  expect(await receiveOverHttp(name, 1)).toHaveLength(1);
  await receiveOne(pool, name);
  await expect(receive(pool, name)).rejects.toMatchObject({ code: 'TQ002' });
  await pool.query('update trunkline.settings set in_flight_limit_standard = 120000');
  await receiveOne(pool, name);
});
