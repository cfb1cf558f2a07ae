import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { setReadOnly } from './read-only.ts';

const database = useDatabase();
const server = useServer(database);

it('answers 200 while the database answers and the schema is current', async () => {
  const response = await fetch(`${server.url}/health`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'ok' });
});

it('answers 503 with the reason when the schema is behind', async () => {
  await database.pool.query(`alter table trunkline.schema_migrations rename to hidden`);
  const response = await fetch(`${server.url}/health`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ status: 'unavailable' });
  await database.pool.query(`alter table trunkline.hidden rename to schema_migrations`);
});

it('answers 503 with the reason when the database takes no changes', async () => {
  await setReadOnly(database, true);
  const response = await fetch(`${server.url}/health`);
  await setReadOnly(database, false);
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({
    status: 'unavailable',
    reason: 'The database takes no changes: it is a standby, or set to read only.',
  });
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});
