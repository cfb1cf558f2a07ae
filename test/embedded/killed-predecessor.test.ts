import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startOwnerProcess } from './owner-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { query, readPostmasterPid, startTestPostgres } from './test-postgres.ts';

describe('after kill -9', () => {
  test('of Trunkline, its PostgreSQL is replaced and the data is there', async () => {
    const directory = await temporaryDirectory();
    const owner = await startOwnerProcess(directory);
    await query(owner.connectionString, 'create table kept as select 1 as value');
    const orphan = await readPostmasterPid(directory);

    const refused = startTestPostgres(directory);
    await expect(refused).rejects.toThrow(
      `process ${owner.pid}. Stop it first (kill ${owner.pid})`,
    );
    await owner.kill();

    const { connectionString, messages } = await startTestPostgres(directory);
    expect(messages.join()).toContain(`left by a killed Trunkline (process ${orphan})`);
    expect(await readPostmasterPid(directory)).not.toBe(orphan);
    expect(connectionString).toBe(owner.connectionString);
    expect(await query(connectionString, 'select value from kept')).toEqual([[1]]);
  });

  test('of both, the data is recovered', async () => {
    const directory = await temporaryDirectory();
    const owner = await startOwnerProcess(directory);
    await query(owner.connectionString, 'create table kept as select 1 as value');
    const postmaster = await readPostmasterPid(directory);
    await owner.kill();
    process.kill(postmaster, 'SIGKILL');

    const { connectionString } = await startTestPostgres(directory);
    expect(await query(connectionString, 'select value from kept')).toEqual([[1]]);
  });

  test('a stranger that now has the pid of PostgreSQL is neither believed nor signalled', async () => {
    const directory = await temporaryDirectory();
    const first = await startTestPostgres(directory);
    await first.stop();
    const pidFile = join(directory, 'postgresql', 'postmaster.pid');
    await writeFile(pidFile, `${process.ppid}\n${directory}/postgresql\n`);
    const { messages } = await startTestPostgres(directory);
    expect(messages.join()).toContain(`process ${process.ppid} is none of this database`);
    expect(process.kill(process.ppid, 0)).toBe(true);
  });

  test('what an interrupted first start left is removed', async () => {
    const directory = await temporaryDirectory();
    await chmod(directory, 0o711); // As the interrupted start did, for root.
    await mkdir(join(directory, 'initializing-Ab12Cd', 'postgresql'), { recursive: true });
    await writeFile(join(directory, 'connection-url.0123456789ab.tmp'), '');
    await startTestPostgres(directory);
    expect((await readdir(directory)).toSorted()).toEqual([
      'connection-url',
      'owner-1.lock',
      'postgres.log',
      'postgresql',
    ]);
  });
});
