import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const readme = resolve(import.meta.dirname, '../../README.md');
const documentedEndpoint = 'http://127.0.0.1:9324';
const endOfBlock = '--- end of block ---';

const hasAwsCli = spawnSync('aws', ['--version']).status === 0;
const title = `the tour in README.md${hasAwsCli ? '' : ' (skipped: the AWS CLI is not installed)'}`;

/** The shell blocks of the chapter, in order. */
async function readTour(): Promise<string[]> {
  const text = await readFile(readme, 'utf8');
  const [, tour = ''] = /\n## A tour\n(.*?)\n## /s.exec(text) ?? [];
  return [...tour.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block ?? '');
}

/** Runs the blocks in one shell, as a reader does who pastes them; what each printed. */
async function runBlocks(blocks: string[], endpoint: string, directory: string): Promise<string[]> {
  const script = [
    'set -euo pipefail',
    ...blocks.map(
      (block) => `${block.replaceAll(documentedEndpoint, endpoint)}echo '${endOfBlock}'`,
    ),
  ].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    cwd: directory,
    timeout: 120_000,
    env: {
      ...process.env,
      // Settings of the person who runs the tests must not change what the CLI prints.
      AWS_CONFIG_FILE: join(directory, 'no-config'),
      AWS_SHARED_CREDENTIALS_FILE: join(directory, 'no-credentials'),
      AWS_PROFILE: undefined,
      AWS_DEFAULT_OUTPUT: 'json',
      AWS_PAGER: '',
    },
  });
  return stdout.split(`${endOfBlock}\n`);
}

describe.skipIf(!hasAwsCli)(title, () => {
  const server = useServer(useDatabase());
  let directory: string;
  let event: unknown;
  let received: { Messages: [{ Body: string; ReceiptHandle: string }] };
  let again: { Messages: [{ ReceiptHandle: string }] };
  let outputs: string[];

  const output = (block: number): string => outputs[block]?.trim() ?? '';
  const readJson = async (file: string) =>
    JSON.parse(await readFile(join(directory, file), 'utf8'));

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'trunkline-tour-'));
    const blocks = await readTour();
    expect(blocks).toHaveLength(7);
    outputs = await runBlocks(blocks, server.url, directory);
    event = await readJson('event.json');
    received = await readJson('received.json');
    again = await readJson('again.json');
  }, 120_000);

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('creates a queue', () => {
    expect(output(1)).toBe(`${server.url}/000000000000/uploads`);
  });

  it('sends the event', () => {
    expect(JSON.parse(output(2))).toEqual({
      MD5OfMessageBody: expect.stringMatching(/^[0-9a-f]{32}$/),
      MessageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it('receives the event as it was sent', () => {
    expect(output(3)).toBe('photos/HappyFace.jpg');
    expect(JSON.parse(received.Messages[0].Body)).toEqual(event);
  });

  it('shows the message in flight and hands it out to nobody else', () => {
    expect(JSON.parse(output(4))).toEqual({
      Attributes: {
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: '1',
      },
    });
  });

  it('receives the message again under a new handle after it was given back', () => {
    expect(output(5)).toBe('2');
    expect(again.Messages[0].ReceiptHandle).not.toBe(received.Messages[0].ReceiptHandle);
  });

  it('deletes the message', () => {
    expect(JSON.parse(output(6))).toMatchObject({
      Attributes: {
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: '0',
        ApproximateNumberOfMessagesDelayed: '0',
      },
    });
  });
});
