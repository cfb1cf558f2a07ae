import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { startServerProcess, useCompiledServer } from './compiled-server.ts';
import { drain, Load, missingFrom } from './load.ts';

const database = useDatabase();
const compiled = useCompiledServer();

/** Queue URLs carry an address of the server, so each server is asked for its own. */
async function queueAt(endpoint: string, name: string): Promise<string> {
  const sqs = jsonClient(endpoint);
  const { QueueUrl = '' } = await sqs.createQueue({ QueueName: name });
  sqs.destroy();
  return QueueUrl;
}

/** A request waits for a connection up to five seconds; that and a bit is no hanging. */
const longestAnswerMs = 8_000;

it('loses nothing acknowledged when the server is killed, and starts again', async () => {
  const environment = { DATABASE_URL: database.url };
  const killed = await startServerProcess(compiled, environment);
  const load = new Load(killed.url, await queueAt(killed.url, 'killed'));
  await load.progress(500);
  await killed.kill('SIGKILL');
  await load.stop();
  expect(load.refusals).toEqual([]);
  expect(load.unanswered).toBeGreaterThan(0);

  const restarted = await startServerProcess(compiled, environment);
  const stored = await drain(restarted.url, await queueAt(restarted.url, 'killed'));
  expect(missingFrom(stored, load.acknowledged)).toEqual([]);
});

it('answers retryable errors while its connections break, and reconnects by itself', async () => {
  const server = await startServerProcess(compiled, { DATABASE_URL: database.url });
  const queueUrl = await queueAt(server.url, 'cut-off');
  const pollsUrl = await queueAt(server.url, 'polled');
  const sqs = jsonClient(server.url);
  onTestFinished(() => sqs.destroy());
  const poll = sqs.receiveMessage({ QueueUrl: pollsUrl, WaitTimeSeconds: 20 });

  const load = new Load(server.url, queueUrl);
  let broken = 0;
  for (let round = 1; round <= 5; round += 1) {
    await load.progress(100);
    const { rowCount } = await database.pool.query(
      `select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and application_name like 'trunkline%'
        and application_name <> 'trunkline test'`,
    );
    broken += rowCount ?? 0;
  }
  await load.progress(500);
  await load.stop();

  expect(broken).toBeGreaterThan(10);
  expect(load.unanswered, server.output()).toBe(0);
  expect(load.refusals.length).toBeGreaterThan(0);
  expect([...new Set(load.refusals)]).toEqual([503]);
  expect(load.longestMs).toBeLessThan(longestAnswerMs);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);

  await sqs.sendMessage({ QueueUrl: pollsUrl, MessageBody: 'after all' });
  expect((await poll).Messages?.map(({ Body }) => Body)).toEqual(['after all']);
  const stored = await drain(server.url, queueUrl);
  expect(missingFrom(stored, load.acknowledged)).toEqual([]);
});

it('loses nothing acknowledged when its own PostgreSQL is killed, and then the server', {
  timeout: 90_000,
}, async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  const environment = { TRUNKLINE_DATA_DIR: dataDirectory };
  const server = await startServerProcess(compiled, environment);
  const load = new Load(server.url, await queueAt(server.url, 'durable'));
  await load.progress(300);

  const pidFile = await readFile(join(dataDirectory, 'postgresql/postmaster.pid'), 'utf8');
  process.kill(Number.parseInt(pidFile, 10), 'SIGKILL');
  await sleep(50);
  await load.progress(300, 40_000);
  expect([...new Set(load.refusals)]).toEqual([503]);
  expect(load.unanswered).toBe(0);
  expect(load.longestMs).toBeLessThan(longestAnswerMs);

  await server.kill('SIGKILL');
  await load.stop();
  const restarted = await startServerProcess(compiled, environment);
  const stored = await drain(restarted.url, await queueAt(restarted.url, 'durable'));
  expect(missingFrom(stored, load.acknowledged)).toEqual([]);
});
