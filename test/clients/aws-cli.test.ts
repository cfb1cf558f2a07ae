import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { isRunnable, type Outcome, runWithAws } from './programs.ts';

const server = useServer(useDatabase());
const isInstalled = isRunnable('aws', '--version');
const reason = isInstalled ? '' : ' (skipped: there is no aws on the PATH)';

const notification = JSON.stringify({
  Records: [
    {
      eventSource: 'aws:s3',
      eventName: 'ObjectCreated:Put',
      s3: { bucket: { name: 'photos' }, object: { key: 'grüße & more.jpg', size: 1_024 } },
    },
  ],
});

function runCli(...words: string[]): Promise<Outcome> {
  return runWithAws(server.url, 'aws', ['sqs', ...words, `--endpoint-url=${server.url}`]);
}

/** What the CLI prints, parsed. */
async function aws(...words: string[]) {
  const { status, output, errors } = await runCli(...words);
  expect(errors).toBe('');
  expect(status).toBe(0);
  return output === '' ? undefined : JSON.parse(output);
}

it.skipIf(!isInstalled)(`the AWS CLI takes a message through its life${reason}`, async () => {
  const { QueueUrl } = await aws(
    'create-queue',
    '--queue-name=photos',
    '--attributes=VisibilityTimeout=60',
  );
  const queue = `--queue-url=${QueueUrl}`;
  const sent = await aws(
    'send-message',
    queue,
    `--message-body=${notification}`,
    '--message-attributes={"Foo":{"DataType":"String","StringValue":"Bar"}}',
  );
  expect(sent.MD5OfMessageAttributes).toBe('ae7155c6026991b6d54b11589678bf9c');

  const { Messages } = await aws(
    'receive-message',
    queue,
    '--wait-time-seconds=5',
    '--attribute-names=All',
    '--message-attribute-names=All',
  );
  expect(Messages).toMatchObject([
    {
      MessageId: sent.MessageId,
      Body: notification,
      Attributes: { ApproximateReceiveCount: '1' },
      MessageAttributes: { Foo: { DataType: 'String', StringValue: 'Bar' } },
    },
  ]);

  const handle = `--receipt-handle=${Messages[0].ReceiptHandle}`;
  await aws('change-message-visibility', queue, handle, '--visibility-timeout=600');
  // An empty answer is printed as nothing.
  expect(await aws('receive-message', queue)).toBeUndefined();
  await aws('delete-message', queue, handle);

  const counts = await aws('get-queue-attributes', queue, '--attribute-names=All');
  expect(counts.Attributes).toMatchObject({
    VisibilityTimeout: '60',
    ApproximateNumberOfMessages: '0',
    ApproximateNumberOfMessagesNotVisible: '0',
  });
});

it.skipIf(!isInstalled)(`the AWS CLI tells errors by their codes${reason}`, async () => {
  const { status, errors } = await runCli(
    'receive-message',
    `--queue-url=${server.url}/000000000000/unknown`,
  );
  expect(status).not.toBe(0);
  expect(errors).toContain('(AWS.SimpleQueueService.NonExistentQueue)');
  expect(errors).toContain('The specified queue does not exist.');
});
