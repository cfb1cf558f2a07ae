import { startFauxqs } from 'fauxqs';

/** fauxqs with its request log off, which its command line always has on. */
const server = await startFauxqs({ port: Number(process.env.PORT), logger: false });
process.once('SIGTERM', () => void server.stop().finally(() => process.exit(0)));
