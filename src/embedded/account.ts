import type { Stats } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { unlessError } from './unless-error.ts';

/** The account that PostgreSQL's processes run as, when that is not the one Trunkline runs as. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** `postgres` exists for this; `nobody` is on every system. macOS prefixes its service accounts. */
const CANDIDATES = ['postgres', '_postgres', 'nobody'];

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** An unprivileged account for PostgreSQL, which refuses to run as root. */
export async function findUnprivilegedAccount(): Promise<Account> {
  const accounts = parseAccounts(
    (await unlessError(readFile('/etc/passwd', 'utf8'), 'ENOENT')) ?? '',
  );
  for (const name of CANDIDATES) {
    const account = accounts.find((candidate) => candidate.name === name);
    if (account !== undefined) return account;
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and this system has no account "postgres" or "nobody" to run it ' +
      'as. Run Trunkline as a normal user, or set DATABASE_URL.',
  );
}

function parseAccounts(passwd: string): Account[] {
  return passwd.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    return /^[1-9]\d*$/.test(uid) && /^\d+$/.test(gid)
      ? [{ name, uid: toUnsigned(uid), gid: toUnsigned(gid) }]
      : [];
  });
}

function toUnsigned(id: string): number {
  return Number(id) >>> 0;
}

/** Whether the account may use what is in the directory: it must pass that and every one above it. */
export async function canReach(account: Account, directory: string): Promise<boolean> {
  let current = await realpath(directory);
  for (;;) {
    if (!mayPass(account, await stat(current))) return false;
    const parent = dirname(current);
    if (parent === current) return true;
    current = parent;
  }
}

/** Whether the account may pass a directory or run a program. Child processes get no other groups. */
export function mayPass(account: Account, stats: Stats): boolean {
  if (stats.uid === account.uid) return (stats.mode & 0o100) !== 0;
  if (stats.gid === account.gid) return (stats.mode & 0o010) !== 0;
  return (stats.mode & 0o001) !== 0;
}
