import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { TestDatabase } from '../support/database.ts';

/** A PgBouncer in transaction mode in front of a test database. */
export interface PgBouncer {
  url: string;
}

export const program = 'pgbouncer';

/** Fewer than any test has clients, so that transactions of different clients do share connections. */
const serverConnections = 3;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function configuration(target: URL, port: number): string {
  const login = [
    `host=${target.hostname}`,
    `port=${target.port || 5432}`,
    `user=${decodeURIComponent(target.username) || 'postgres'}`,
    target.password && `password=${decodeURIComponent(target.password)}`,
  ];
  return `
[databases]
* = ${login.filter(Boolean).join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 100
`;
}

async function waitUntilOpen(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (child.exitCode !== null) {
        throw new Error(`PgBouncer ended with exit code ${child.exitCode}.`, { cause: error });
      }
      await new Promise((resume) => setTimeout(resume, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

export function usePgBouncer(database: TestDatabase): PgBouncer {
  const bouncer: PgBouncer = { url: '' };
  let child: ChildProcess | undefined;
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'trunkline-pgbouncer-'));
    const port = await freePort();
    const url = new URL(database.url);
    const file = join(directory, 'pgbouncer.ini');
    await writeFile(file, configuration(url, port));
    // It refuses to run as root, and another account must be able to read its configuration.
    await chmod(directory, 0o755);
    const account = process.getuid?.() === 0 ? ['--user=nobody'] : [];
    child = spawn(program, [...account, '--quiet', file], { stdio: 'ignore' });
    url.host = `127.0.0.1:${port}`;
    bouncer.url = url.href;
    await waitUntilOpen(url.href, child);
  });

  afterAll(async () => {
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    await rm(directory, { recursive: true, force: true });
  });

  return bouncer;
}
