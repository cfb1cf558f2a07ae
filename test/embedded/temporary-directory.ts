import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty directory that is removed after the test; for several tests, pass what runs after them. */
export async function temporaryDirectory(
  afterwards: (cleanUp: () => Promise<void>) => void = onTestFinished,
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  afterwards(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
