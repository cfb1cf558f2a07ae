import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listProcesses } from '../../src/embedded/process-table.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import {
  runServerProcess,
  type ServerProcess,
  startServerProcess,
  useCompiledServer,
} from './compiled-server.ts';
import { drain, Load, missingFrom } from './load.ts';

const database = useDatabase();
const compiled = useCompiledServer();

/** Node.js starts in a fraction of it, and a replacement waits for one second more. */
const replacedWithinMs = 8_000;
const endsWithinMs = 2_000;

function startWithWorkers(count: number, settings: Record<string, string> = {}) {
  const environment = { DATABASE_URL: database.url, TRUNKLINE_WORKERS: `${count}`, ...settings };
  return startServerProcess(compiled, environment);
}

/** This file has a compilation of its own, so its servers and workers can be told by their command. */
async function serverPids(): Promise<number[]> {
  const processes = await listProcesses();
  return processes.filter(({ command }) => command.includes(compiled.main)).map(({ pid }) => pid);
}

async function workerPids(server: ServerProcess): Promise<number[]> {
  return (await serverPids()).filter((pid) => pid !== server.pid);
}

async function firstWorkerPid(server: ServerProcess): Promise<number> {
  const [pid = 0] = await workerPids(server);
  expect(pid).toBeGreaterThan(0);
  return pid;
}

async function openQueue(server: ServerProcess, name: string) {
  const sqs = jsonClient(server.url);
  onTestFinished(() => sqs.destroy());
  const { QueueUrl: url = '' } = await sqs.createQueue({ QueueName: name });
  return { sqs, url };
}

/** Keeps sends in hand until it is released. */
async function lockMessages(connectionString: string): Promise<{ release(): Promise<void> }> {
  const client = new Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  await client.query('begin');
  await client.query('lock table trunkline.messages in access exclusive mode');
  return { release: () => client.end() };
}

/** Asks on this connection, and so the process that has it. */
async function isAnswered(socket: Socket): Promise<boolean> {
  socket.write('GET /health HTTP/1.1\r\nhost: test\r\n\r\n');
  const answered = once(socket, 'data').then(([data]) => `${data}`.startsWith('HTTP/1.1 200'));
  const closed = once(socket, 'close').then(() => false);
  return await Promise.race([answered, closed]).catch(() => false);
}

async function openConnections(server: ServerProcess, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(server.url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  onTestFinished(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
  });
  for (const socket of sockets) {
    socket.on('error', () => {});
    expect(await isAnswered(socket)).toBe(true);
  }
  return sockets;
}

it('is one process by default', async () => {
  const server = await startServerProcess(compiled, { DATABASE_URL: database.url });
  expect(await serverPids()).toEqual([server.pid]);
});

it('shares its connections among as many processes as are set', async () => {
  const server = await startWithWorkers(2);
  expect(await workerPids(server)).toHaveLength(2);
  expect(server.output().match(/listens on/g)).toHaveLength(1);
  const { rows } = await database.pool.query<{ application_name: string }>(
    `select application_name from pg_stat_activity
    where datname = current_database() and application_name = 'trunkline wake channel'`,
  );
  expect(rows).toHaveLength(2);

  const sockets = await openConnections(server, 8);
  process.kill(await firstWorkerPid(server), 'SIGKILL');
  const answers = await Promise.all(sockets.map(isAnswered));
  expect(answers).toContain(true);
  expect(answers).toContain(false);
});

it('goes on when a worker is killed, loses nothing acknowledged, and replaces it', async () => {
  const server = await startWithWorkers(2);
  const { url } = await openQueue(server, 'goes-on');
  const load = new Load(server.url, url);
  await load.progress(300);
  const killed = await firstWorkerPid(server);
  process.kill(killed, 'SIGKILL');
  await load.progress(300);
  await vi.waitFor(async () => {
    const pids = await workerPids(server);
    expect(pids).toHaveLength(2);
    expect(pids).not.toContain(killed);
  }, replacedWithinMs);
  expect(server.output()).toContain(`Server process ${killed} ended (SIGKILL)`);
  await load.stop();
  expect(load.refusals).toEqual([]);
  expect(missingFrom(await drain(server.url, url), load.acknowledged)).toEqual([]);
});

it('listens on the same port again after all workers were killed', async () => {
  const server = await startWithWorkers(2);
  for (const pid of await workerPids(server)) {
    process.kill(pid, 'SIGKILL');
  }
  await vi.waitFor(async () => {
    const signal = AbortSignal.timeout(500);
    expect((await fetch(`${server.url}/health`, { signal })).status).toBe(200);
  }, replacedWithinMs);
});

it('replaces a worker that was told to end, after it has finished', async () => {
  const server = await startWithWorkers(2);
  const ended = await firstWorkerPid(server);
  process.kill(ended, 'SIGTERM');
  await vi.waitFor(async () => {
    expect(server.output()).toContain(`Server process ${ended} ended (exit code 0)`);
    expect(await workerPids(server)).toHaveLength(2);
  }, replacedWithinMs);
});

it.each([
  { signal: 'SIGTERM', reach: 'the first process' },
  { signal: 'SIGINT', reach: 'all processes, as Ctrl-C' },
] as const)('finishes its work and ends after $signal at $reach', async ({ signal, reach }) => {
  const server = await startWithWorkers(2);
  const { sqs, url } = await openQueue(server, `ended-by-${signal}`);
  const poll = () => sqs.receiveMessage({ QueueUrl: url, WaitTimeSeconds: 20 });
  const polls = Promise.all(Array.from({ length: 8 }, poll));

  const lock = await lockMessages(database.url);
  const sends = Promise.all(
    Array.from({ length: 8 }, () => sqs.sendMessage({ QueueUrl: url, MessageBody: 'in hand' })),
  );
  await sleep(500);
  const workers = await workerPids(server);
  const killed = server.kill(signal);
  if (reach !== 'the first process') {
    for (const pid of workers) {
      process.kill(pid, signal);
    }
  }
  await sleep(500);
  await lock.release();

  expect(await killed).toBe(0);
  expect(await serverPids()).toEqual([]);
  expect(await sends).toHaveLength(8);
  expect(await polls).toHaveLength(8);
  expect(server.output()).not.toContain('ended (');
});

it('leaves no worker when the first process is killed', async () => {
  const server = await startWithWorkers(2);
  const { sqs, url } = await openQueue(server, 'left-behind');
  const poll = sqs.receiveMessage({ QueueUrl: url, WaitTimeSeconds: 20 });
  poll.catch(() => {});
  await sleep(200);
  await server.kill('SIGKILL');
  await vi.waitFor(async () => expect(await serverPids()).toEqual([]), endsWithinMs);
  await expect(poll).rejects.toThrow();
});

it('says once that the port is taken, and leaves no process', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    other.close();
  });
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const environment = { DATABASE_URL: database.url, PORT: `${port}` };
  const alone = await runServerProcess(compiled, environment);
  const shared = await runServerProcess(compiled, { ...environment, TRUNKLINE_WORKERS: '2' });
  expect(shared).toEqual(alone);
  expect(shared.exitCode).toBe(1);
  expect(shared.output).toContain('Another program listens on this address already');
  expect(await serverPids()).toEqual([]);
});

it('does not start when its workers cannot', async () => {
  const failing = `
    import cluster from 'node:cluster';
    if (cluster.isWorker) {
      console.log('Broken.');
      await new Promise((resume) => setTimeout(resume, 200));
      process.exit(3);
    }
  `;
  const { output, exitCode } = await runServerProcess(compiled, {
    DATABASE_URL: database.url,
    TRUNKLINE_WORKERS: '3',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failing)}`,
  });
  expect(output).toBe('Broken.\nA server process could not start (exit code 3).\n');
  expect(exitCode).toBe(1);
  expect(await serverPids()).toEqual([]);
});

it('shares an embedded PostgreSQL, and stops it after the workers', async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  const server = await startWithWorkers(2, { DATABASE_URL: '', TRUNKLINE_DATA_DIR: dataDirectory });
  const { sqs, url } = await openQueue(server, 'embedded');
  const lock = await lockMessages(await readFile(join(dataDirectory, 'connection-url'), 'utf8'));
  const sent = sqs.sendMessage({ QueueUrl: url, MessageBody: 'in hand' });
  await sleep(300);

  const pidFile = join(dataDirectory, 'postgresql/postmaster.pid');
  expect(existsSync(pidFile)).toBe(true);
  const killed = server.kill('SIGTERM');
  await sleep(300);
  await lock.release();
  expect((await sent).MessageId).toBeDefined();
  expect(await killed).toBe(0);
  expect(existsSync(pidFile)).toBe(false);
  expect(await serverPids()).toEqual([]);
});
