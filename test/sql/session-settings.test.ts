import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import { call, createQueue, receiveOne, send } from './door.ts';

/** Functions are parsed in the caller's session, under whatever it has set. */

const database = useDatabase();
const migrations = resolve(import.meta.dirname, '../../migrations');

it('everything works in a session in which a backslash escapes', async () => {
  const session = await openSession(database);
  const warnings: (string | undefined)[] = [];
  session.on('notice', (notice) => warnings.push(notice.message));
  await session.query('set standard_conforming_strings = off');
  await call(session, 'create_queue', {
    queue_name: 'failed.fifo',
    attributes: '{"FifoQueue": true}',
  });
  const deadLetterTargetArn = 'arn:aws:sqs:us-east-1:000000000000:failed.fifo';
  const name = await createQueue(session, {
    FifoQueue: true,
    VisibilityTimeout: 7,
    RedrivePolicy: { deadLetterTargetArn, maxReceiveCount: 5 },
  });
  const attributes = {
    Zähler: { DataType: 'Number.int', StringValue: '-1.5e3' },
    bytes: { DataType: 'Binary', BinaryValue: 'AAAA' },
  };
  const sent = await send(session, name, 'u', {
    message_attributes: JSON.stringify(attributes),
    message_group_id: 'g',
    message_deduplication_id: 'd',
  });
  await expect(
    send(session, name, '\u{1}', { message_group_id: 'g', message_deduplication_id: 'e' }),
  ).rejects.toMatchObject({ code: 'TQ014' });
  const { receipt_handle, ...received } = await receiveOne(session, name);
  expect(received).toMatchObject({
    message_id: sent.message_id,
    message_attributes: attributes,
    md5_of_message_attributes: sent.md5_of_message_attributes,
  });
  await call(session, 'delete_message', { queue_name: name, receipt_handle });
  expect(warnings).toEqual([]);
});

it('no literal means something else where a backslash escapes', async () => {
  const files = await readdir(migrations, { recursive: true });
  const dependent = await Promise.all(
    files
      .filter((file) => file.endsWith('.sql'))
      .map(async (file) => {
        const text = await readFile(resolve(migrations, file), 'utf8');
        return /(?<!E)'[^'\n]*\\/.test(text) ? [file] : [];
      }),
  );
  expect(dependent.flat()).toEqual([]);
});
