import { mkdir, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from './temporary-directory.ts';
import { query, readPostmasterPid, startTestPostgres } from './test-postgres.ts';

const isRoot = process.getuid?.() === 0;

describe.runIf(isRoot && process.platform === 'linux')('started by root', () => {
  test('PostgreSQL runs as somebody else', async () => {
    const directory = await temporaryDirectory();
    await startTestPostgres(directory);
    const { uid } = await stat(`/proc/${await readPostmasterPid(directory)}`);
    expect(uid).not.toBe(0);
    expect((await stat(join(directory, 'postgresql'))).uid).toBe(uid);
  });

  test('a data directory below a closed one points to where the data is', async () => {
    const closed = join(await temporaryDirectory(), 'closed');
    const directory = join(closed, 'data');
    await mkdir(closed, { mode: 0o700 });
    const first = await startTestPostgres(directory);
    const home = await readlink(join(directory, 'relocated-to'));
    onTestFinished(() => rm(home, { recursive: true }));
    expect(first.messages.join()).toContain(`the database is kept in ${home}`);
    await query(first.connectionString, 'create table kept as select 1 as value');
    await first.stop();

    const second = await startTestPostgres(directory);
    expect(await query(second.connectionString, 'select value from kept')).toEqual([[1]]);
    await second.stop();
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });
});
