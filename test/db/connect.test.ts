import { createServer, type Server } from 'node:net';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConnectionError, waitForDatabase } from '../../src/db/connect.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase({ isMigrated: false });

/** Where it waits, the outcome comes this much after the time at most: one attempt and one pause. */
const slackMs = 8_000;

interface Outcome {
  error: unknown;
  messages: string[];
  tookMs: number;
}

async function wait(url: string, waitMs: number): Promise<Outcome> {
  const messages: string[] = [];
  const startedAt = performance.now();
  const error: unknown = await waitForDatabase(url, waitMs, (message) =>
    messages.push(message),
  ).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, messages, tookMs: performance.now() - startedAt };
}

function messageOf({ error }: Outcome): string {
  expect(error).toBeInstanceOf(ConnectionError);
  return error instanceof Error ? error.message : '';
}

function changed(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

/** A server that takes connections and says nothing, and the port it has. */
async function silentServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The server has no port.');
  }
  return { server, port: address.port };
}

async function unusedPort(): Promise<number> {
  const { server, port } = await silentServer();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('waiting for the database', () => {
  it('ends at once when it is there', async () => {
    const { error, messages } = await wait(database.url, 10_000);
    expect(error).toBeUndefined();
    expect(messages).toEqual([]);
  });

  it('ends after its time when nothing listens there, and says so', async () => {
    const port = await unusedPort();
    const outcome = await wait(`postgresql://user:hidden@127.0.0.1:${port}/queues`, 1_000);
    const message = messageOf(outcome);
    expect(message).toContain(`at 127.0.0.1:${port}/queues cannot be reached`);
    expect(message).toContain('ECONNREFUSED');
    expect(message).toContain('DATABASE_URL');
    expect(outcome.messages).toHaveLength(1);
    expect(outcome.messages[0]).toMatch(/^Waiting up to 1 s for the database/);
    expect(`${message}${outcome.messages}`).not.toContain('hidden');
    expect(outcome.tookMs).toBeGreaterThan(1_000);
    expect(outcome.tookMs).toBeLessThan(1_000 + slackMs);
  });

  it('ends after its time when the host cannot be found', async () => {
    const outcome = await wait('postgresql://nobody@no-such-host.invalid/queues', 0);
    expect(messageOf(outcome)).toMatch(/no-such-host\.invalid\/queues cannot be reached/);
    expect(outcome.tookMs).toBeLessThan(slackMs);
  });

  it('ends after its time when something listens that does not answer', async () => {
    const { server, port } = await silentServer();
    onTestFinished(() => {
      server.close();
    });
    const outcome = await wait(`postgresql://nobody@127.0.0.1:${port}/queues`, 100);
    expect(messageOf(outcome)).toContain('cannot be reached');
    expect(outcome.tookMs).toBeLessThan(slackMs);
  });

  it('ends at once when the database does not exist, and says so', async () => {
    const outcome = await wait(
      changed((url) => {
        url.pathname = '/no_such_database';
      }),
      30_000,
    );
    const message = messageOf(outcome);
    expect(message).toContain('database "no_such_database" does not exist');
    expect(message).toContain('Create it (createdb) or correct DATABASE_URL');
    expect(outcome.tookMs).toBeLessThan(5_000);
  });

  it('ends at once when the role may not log in, and says so', async () => {
    const role = `trunkline_test_role_${process.pid}_nologin`;
    await database.pool.query(`create role ${role} nologin password 'secret'`);
    onTestFinished(async () => {
      await database.pool.query(`drop role ${role}`);
    });
    const outcome = await wait(
      changed((url) => {
        url.username = role;
        url.password = 'secret';
      }),
      30_000,
    );
    const message = messageOf(outcome);
    expect(message).toContain('refused the login');
    expect(message).toContain('Check the user and password in DATABASE_URL');
    expect(message).not.toContain('secret');
    expect(outcome.tookMs).toBeLessThan(5_000);
  });

  it('ends at once when the password is wrong, and says so', async (context) => {
    const role = `trunkline_test_role_${process.pid}_password`;
    await database.pool.query(`create role ${role} login password 'right'`);
    onTestFinished(async () => {
      await database.pool.query(`drop role ${role}`);
    });
    const wrong = changed((url) => {
      url.username = role;
      url.password = 'wrong';
    });
    const client = new Client({ connectionString: wrong });
    const isTrusted = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end();
    context.skip(isTrusted, 'This PostgreSQL asks for no password.');

    const outcome = await wait(wrong, 30_000);
    expect(messageOf(outcome)).toContain('refused the login');
    expect(messageOf(outcome)).not.toContain(':wrong');
    expect(outcome.tookMs).toBeLessThan(5_000);
  });

  it('goes on until a database comes up', async () => {
    const target = new URL(database.url);
    const port = await unusedPort();
    const waiting = wait(
      changed((url) => {
        url.hostname = '127.0.0.1';
        url.port = String(port);
      }),
      15_000,
    );
    await new Promise((resume) => setTimeout(resume, 500));
    // Forwards to the real one, as if that had just started.
    const { connect } = await import('node:net');
    const forwarder = createServer((socket) => {
      const upstream = connect(Number(target.port || 5432), target.hostname);
      socket.pipe(upstream).pipe(socket);
      socket.on('error', () => upstream.destroy());
      upstream.on('error', () => socket.destroy());
    });
    onTestFinished(() => {
      forwarder.close();
    });
    await new Promise<void>((resolve) => forwarder.listen(port, '127.0.0.1', resolve));
    expect(await waiting).toMatchObject({ error: undefined });
  });
});
