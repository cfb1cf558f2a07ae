import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { peersDirectory } from './paths.ts';

/** What the youngest of the peers asks for. */
const neededMajor = 22;
const neededMinor = 19;

function suitsPeers(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

const installed = resolve(peersDirectory, 'node_modules/node/bin/node');

/**
 * The Node.js of every program that is measured, so that none has a better one: the present one where the
 * peers run on it, else the one that is installed with them.
 */
export const nodeOfPrograms =
  suitsPeers(process.version) || !existsSync(installed) ? process.execPath : installed;
