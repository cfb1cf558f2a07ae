import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claimOwnership } from '../../src/embedded/ownership.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const ignore = () => {};

describe('the ownership of a data directory', () => {
  test('goes to exactly one of many that claim it at once', async () => {
    const directory = await temporaryDirectory();
    const claims = Array.from({ length: 20 }, () => claimOwnership(directory, ignore));
    const results = await Promise.allSettled(claims);
    const owners = results.filter(({ status }) => status === 'fulfilled');
    expect(owners).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected')
        expect(String(result.reason)).toContain(String(process.pid));
    }
  });

  test('is free again after its release', async () => {
    const directory = await temporaryDirectory();
    const first = await claimOwnership(directory, ignore);
    expect(await first.isHeld()).toBe(true);
    await first.release();
    expect(await first.isHeld()).toBe(false);
    const second = await claimOwnership(directory, ignore);
    expect(await second.isHeld()).toBe(true);
    expect(await readdir(directory)).toEqual(['owner-2.lock']);
  });

  test('passes on when its pid belongs to another process now', async () => {
    const directory = await temporaryDirectory();
    await rewriteLock(directory, (lines) => ({ ...lines, startTime: '1' }));
    await expect(claimOwnership(directory, ignore)).resolves.toBeDefined();
  });

  test('passes on when the lock is cut short, as after a power failure', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'owner-1.lock'), '');
    await expect(claimOwnership(directory, ignore)).resolves.toBeDefined();
  });

  test('passes on from another container only when that is silent', async () => {
    const directory = await temporaryDirectory();
    await rewriteLock(directory, (lines) => ({ ...lines, place: 'elsewhere', host: 'other-host' }));
    const path = join(directory, 'owner-2.lock');
    const heartbeat = setInterval(() => utimes(path, new Date(), new Date()), 300);
    await expect(claimOwnership(directory, ignore)).rejects.toThrow('on other-host');
    clearInterval(heartbeat);
    await expect(claimOwnership(directory, ignore)).resolves.toBeDefined();
  }, 15_000);
});

interface LockLines {
  pid: string;
  startTime: string;
  place: string;
  host: string;
}

/** Leaves the lock of a killed owner that differs from this process as stated. */
async function rewriteLock(
  directory: string,
  change: (lines: LockLines) => LockLines,
): Promise<void> {
  const ownership = await claimOwnership(directory, ignore);
  const content = await readFile(join(directory, 'owner-1.lock'), 'utf8');
  await ownership.release();
  const [pid = '', startTime = '', place = '', host = ''] = content.split('\n');
  const lines = change({ pid, startTime, place, host });
  const changed = `${lines.pid}\n${lines.startTime}\n${lines.place}\n${lines.host}\n`;
  await writeFile(join(directory, 'owner-2.lock'), changed);
}
