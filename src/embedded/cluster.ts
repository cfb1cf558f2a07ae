import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { DataHome } from './data-home.ts';

/** A database cluster of PostgreSQL: what its processes need and how they are told from others. */
export interface Cluster {
  /** Real path of the directory that holds the cluster, its lock, its log and its connection file. */
  home: string;
  /** Real path of PostgreSQL's own data directory. */
  directory: string;
  /**
   * PostgreSQL puts this name into the title of each of its processes, which is what finds the children
   * that outlive a killed postmaster.
   */
  name: string;
  logFile: string;
  account: Account | undefined;
  binaries: Binaries;
  /** PostgreSQL settings on top of the defaults, by name. */
  settings: Record<string, string>;
  log: (message: string) => void;
}

export function describeCluster(
  { directory, clusterDirectory, account }: DataHome,
  rest: Pick<Cluster, 'binaries' | 'settings' | 'log'>,
): Cluster {
  const digest = createHash('sha256').update(clusterDirectory).digest('hex');
  return {
    home: directory,
    directory: clusterDirectory,
    name: `trunkline-${digest.slice(0, 16)}`,
    logFile: join(directory, 'postgres.log'),
    account,
    ...rest,
  };
}
