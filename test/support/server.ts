import { afterAll, beforeAll } from 'vitest';
import { type Config, readConfig } from '../../src/config.ts';
import { type Server, startServer } from '../../src/server.ts';
import type { TestDatabase } from './database.ts';

/** A server in this process, on a free port. The url is known once tests run. */
export interface TestServer {
  url: string;
  close(): Promise<void>;
}

export async function openServer(
  databaseUrl: string,
  settings: Partial<Config> = {},
): Promise<Server> {
  const config = readConfig({ PORT: '0', LOG_LEVEL: 'error' });
  return await startServer({ ...config, ...settings }, databaseUrl);
}

/** Opens a server before the tests of a file and closes it after them. */
export function useServer(database: TestDatabase, settings: Partial<Config> = {}): TestServer {
  let server: Server | undefined;
  const handle: TestServer = {
    url: '',
    close: async () => {
      await server?.close();
      server = undefined;
    },
  };
  beforeAll(async () => {
    server = await openServer(database.url, settings);
    handle.url = server.url;
  });
  afterAll(() => handle.close());
  return handle;
}
