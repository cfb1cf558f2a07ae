import { resolve } from 'node:path';

/** Seen from this file's place when compiled, bench/dist/bench/harness. */
export const repository = resolve(import.meta.dirname, '../../../..');

export const compiledServer = resolve(repository, 'dist/main.js');

/** Where stores are put: within the repository, because the system's temporary directory may be memory, not a disk. */
export const storesDirectory = resolve(repository, '.trunkline');

export const peersDirectory = resolve(repository, 'bench/peers');

/** The compiled form of a file of the benchmarks, for a process of its own. */
export function compiledBench(file: string): string {
  return resolve(import.meta.dirname, '..', file);
}
