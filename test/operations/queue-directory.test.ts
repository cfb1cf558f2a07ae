import { describe, expect, it, vi } from 'vitest';
import { typedDatabase } from '../../src/db/database.ts';
import { type Queue, QueueStore } from '../../src/db/queue-store.ts';
import { QueueDirectory } from '../../src/operations/queue-directory.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
const server = { accountId: '000000000000', region: 'us-east-1' };

/** A directory, and a look at what it asks the database. */
function setUp() {
  const store = new QueueStore(database.pool, typedDatabase(database.pool));
  const findQueue = vi.spyOn(store, 'findQueue');
  const directory = new QueueDirectory(store, server);
  const find = (url: string): Promise<Queue> =>
    directory.withQueue(directory.addressFromUrl(url), async (queue) => queue);
  return { directory, find, findQueue };
}

describe('The directory of queues', () => {
  it.each([
    'uploads',
    'x'.repeat(80),
    `${'x'.repeat(75)}.fifo`,
    'http://here/000000000000/uploads',
    'https://proxy.example.com/any/prefix/000000000000/Up-loads_2.fifo',
  ])('looks %s up once', async (url) => {
    const { find, findQueue } = setUp();
    const name = url.split('/').at(-1) ?? '';
    await database.pool.query('select trunkline.create_queue($1, $2)', [
      name,
      name.endsWith('.fifo') ? { FifoQueue: 'true' } : {},
    ]);
    expect(await find(url)).toMatchObject({ accountId: '000000000000', name });
    expect(await find(url)).toMatchObject({ name });
    expect(findQueue).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['an empty name', ''],
    ['a name of 81 letters', 'x'.repeat(81)],
    ['a name of a megabyte', `http://here/000000000000/${'x'.repeat(1_000_000)}`],
    ['a character that no name has', 'http://here/000000000000/up%20loads'],
    ['a NUL', 'uploads\u{0}'],
    ['another ending', 'uploads.lifo'],
    ['no account', 'http://here/uploads'],
    ['a megabyte before the account', `http://here/${'x/'.repeat(500_000)}000000000000/uploads`],
  ])('does not ask the database about a URL with %s', async (_what, url) => {
    const { find, findQueue } = setUp();
    await expect(find(url)).rejects.toMatchObject({ errorName: 'QueueDoesNotExist' });
    expect(findQueue).not.toHaveBeenCalled();
  });

  it('does not ask the database about an account that is none', async () => {
    const { directory, findQueue } = setUp();
    const address = { accountId: '1'.repeat(1_000_000), name: 'uploads' };
    await expect(directory.withQueue(address, async () => {})).rejects.toMatchObject({
      errorName: 'QueueDoesNotExist',
    });
    expect(findQueue).not.toHaveBeenCalled();
  });
});
