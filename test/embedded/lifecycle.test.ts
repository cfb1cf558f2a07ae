import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '../../src/embedded/index.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { query, readPostmasterPid, startTestPostgres } from './test-postgres.ts';

describe('the embedded PostgreSQL', () => {
  /** Shared by most tests, each of which starts on what the one before left: creating one takes longest. */
  let directory: string;

  beforeAll(async () => {
    let cleanUp = async () => {};
    directory = await temporaryDirectory((action) => {
      cleanUp = action;
    });
    return cleanUp;
  });

  test('keeps its data, its port and its password over a restart', async () => {
    const first = await startTestPostgres(directory);
    await query(first.connectionString, 'create table if not exists kept as select 1 as value');
    await first.stop();
    await expect(query(first.connectionString, 'select')).rejects.toThrow('ECONNREFUSED');

    const second = await startTestPostgres(directory);
    expect(second.connectionString).toBe(first.connectionString);
    expect(await query(second.connectionString, 'select value from kept')).toEqual([[1]]);
  });

  test('tells nobody but its owner how to connect', async () => {
    const { connectionString } = await startTestPostgres(directory);
    const file = join(directory, 'connection-url');
    expect(await readFile(file, 'utf8')).toBe(`${connectionString}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const wrong = connectionString.replace(/:[0-9a-f]+@/, ':wrong@');
    await expect(query(wrong, 'select')).rejects.toThrow('password authentication failed');
  });

  test('starts again by itself when it is killed, on the same port and with its data', async () => {
    const { connectionString, messages } = await startTestPostgres(directory);
    await query(connectionString, 'create table if not exists kept as select 1 as value');
    process.kill(await readPostmasterPid(directory), 'SIGKILL');
    await vi.waitFor(() => expect(messages).toContain('PostgreSQL is running again.'), 10_000);
    expect(await query(connectionString, 'select value from kept')).toEqual([[1]]);
  });

  test('does not start again over a data directory that was deleted', async () => {
    const directory = await temporaryDirectory();
    const { gaveUp } = await startTestPostgres(directory);
    const pid = await readPostmasterPid(directory);
    await rm(directory, { recursive: true });
    process.kill(pid, 'SIGKILL');
    expect((await gaveUp).message).toContain('was deleted or taken over');
  });

  test('stops at once while it waits to start again', async () => {
    const { messages, stop } = await startTestPostgres(directory);
    process.kill(await readPostmasterPid(directory), 'SIGKILL');
    await vi.waitFor(() => expect(messages.join()).toContain('starting it again'));
    await stop();
    await expect(startTestPostgres(directory)).resolves.toBeDefined();
  });

  test('refuses a second start and names the process that is in the way', async () => {
    await startTestPostgres(directory);
    const second = startTestPostgres(directory);
    await expect(second).rejects.toThrow(EmbeddedPostgresError);
    await expect(second).rejects.toThrow(`process ${process.pid}`);
  });

  test('sets a new password when the file with the old one is lost', async () => {
    const first = await startTestPostgres(directory);
    await query(first.connectionString, 'create table if not exists kept as select 1 as value');
    await first.stop();
    await rm(join(directory, 'connection-url'));
    const { connectionString } = await startTestPostgres(directory);
    expect(await query(connectionString, 'select value from kept')).toEqual([[1]]);
  });

  test('quotes its log when a setting keeps it from starting', async () => {
    const start = startTestPostgres(directory, { shared_buffers: 'plenty' });
    await expect(start).rejects.toThrow('invalid value for parameter "shared_buffers": "plenty"');
  });

  test('leaves nothing running when its start is aborted', async () => {
    const reason = new Error('stop');
    const start = startEmbeddedPostgres({
      dataDirectory: directory,
      log: () => {},
      signal: AbortSignal.abort(reason),
    });
    await expect(start).rejects.toBe(reason);
    await expect(readPostmasterPid(directory)).rejects.toThrow('ENOENT');
  });

  test('refuses the data of another major version and names both', async () => {
    const directory = await temporaryDirectory();
    const first = await startTestPostgres(directory);
    await first.stop();
    await writeFile(join(directory, 'postgresql', 'PG_VERSION'), '15\n');
    const start = startTestPostgres(directory);
    await expect(start).rejects.toThrow(/written by PostgreSQL 15.* with PostgreSQL 18/);
  });

  test('leaves the data directory of another PostgreSQL server alone', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'PG_VERSION'), '18\n');
    await expect(startTestPostgres(directory)).rejects.toThrow('itself the data directory');
  });
});
