import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { openServer } from '../support/server.ts';
import { call, createQueue, receive, send } from './requests.ts';
const database = useDatabase();
async function closing(name: string, work: (s: any, q: string) => Promise<any>) {
  const s = await openServer(database.url);
  const q = await createQueue(s.url, 'q');
  await work(s, q);
  const t = performance.now();
  const done = s.close();
  const r = await Promise.race([done.then(() => 'closed'), sleep(8000).then(() => 'HANGS')]);
  process.stderr.write(`${name}: ${r} ${Math.round(performance.now() - t)}\n`);
}
it('x', async () => {
  await closing('idle', async () => {});
  await closing('10 parallel', async (s, q) => { await Promise.all(Array.from({ length: 10 }, () => receive(s.url, q))); });
  await closing('500 parallel', async (s, q) => { await Promise.all(Array.from({ length: 500 }, () => receive(s.url, q))); });
  await closing('abort', async (s, q) => {
    const c = new AbortController();
    const p = Promise.allSettled([receive(s.url, q, { WaitTimeSeconds: 20 }, c.signal)]);
    await sleep(300); c.abort(); await p; await sleep(100);
  });
  await closing('poll', async (s, q) => { void receive(s.url, q, { WaitTimeSeconds: 20 }).catch(() => {}); await sleep(300); });
  await closing('in flight', async (s, q) => { void call(s.url, 'SendMessage', { QueueUrl: q, MessageBody: 'x' }).catch(() => {}); await sleep(1); });
}, 90_000);
