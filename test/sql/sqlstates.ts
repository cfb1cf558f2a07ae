import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ErrorName, errorCatalogue } from '../../src/sqs/errors.ts';

/** The table of SQLSTATEs as users read it. */

const documentation = resolve(import.meta.dirname, '../../docs/sql-api.md');

/** Each SQLSTATE in the order of the table, with the error of SQS that it stands for. */
export async function documentedSqlStates(): Promise<Map<string, ErrorName>> {
  const text = await readFile(documentation, 'utf8');
  const rows = text.matchAll(/^\| `(TQ\d{3})` \| `(\w+)` \|/gm);
  return new Map(
    [...rows].map(([, sqlState = '', name = '']) => {
      if (!(name in errorCatalogue)) {
        throw new Error(`${name} is no error of SQS.`);
      }
      return [sqlState, name as ErrorName];
    }),
  );
}

/** What the JSON protocol calls the error of a SQLSTATE. */
export async function errorOfSqlState(sqlState: string): Promise<{ type: string }> {
  const name = (await documentedSqlStates()).get(sqlState);
  if (name === undefined) {
    throw new Error(`${sqlState} is not documented.`);
  }
  return { type: errorCatalogue[name].type.replace(/^.*#/, '') };
}
