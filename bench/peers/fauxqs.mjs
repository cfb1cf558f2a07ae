import { startFauxqs } from 'fauxqs';

/** fauxqs with its request log off, which its command line always has on. With DATA_DIR it keeps messages in SQLite. */
const server = await startFauxqs({
  port: Number(process.env.PORT),
  logger: false,
  ...(process.env.DATA_DIR && { dataDir: process.env.DATA_DIR }),
});
process.once('SIGTERM', () => void server.stop().finally(() => process.exit(0)));
