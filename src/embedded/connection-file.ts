import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { replacePrivateFile } from './private-file.ts';
import { unlessError } from './unless-error.ts';

/** Both the PostgreSQL user and the database. */
export const DATABASE_NAME = 'trunkline';

export interface Connection {
  password: string;
  /** On 127.0.0.1. */
  port: number;
}

/**
 * Holds the whole connection string, so that `psql "$(cat .trunkline/connection-url)"` works while the
 * server runs. The password is kept there and nowhere else.
 */
export function connectionFile({ home }: Cluster): string {
  return join(home, 'connection-url');
}

export function connectionString({ password, port }: Connection, database = DATABASE_NAME): string {
  // sslmode: a PGSSLMODE of someone's shell must not ask this server for a certificate it does not have.
  return `postgresql://${DATABASE_NAME}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

export function generatePassword(): string {
  return randomBytes(24).toString('hex');
}

/** Undefined when there is no such file or nothing usable in it. */
export async function readConnection(cluster: Cluster): Promise<Connection | undefined> {
  const content = await unlessError(readFile(connectionFile(cluster), 'utf8'), 'ENOENT');
  const match = /^postgresql:\/\/trunkline:(\w+)@127\.0\.0\.1:(\d+)\//.exec(content ?? '');
  const [, password, port] = match ?? [];
  return password === undefined ? undefined : { password, port: Number(port) };
}

export async function writeConnection(cluster: Cluster, connection: Connection): Promise<void> {
  await replacePrivateFile(connectionFile(cluster), `${connectionString(connection)}\n`);
}
