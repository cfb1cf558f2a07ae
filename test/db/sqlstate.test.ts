import { DatabaseError } from 'pg';
import { expect, it } from 'vitest';
import { toCallerError } from '../../src/db/sqlstate.ts';

it.each([
  ['42883', 'function'],
  ['42P01', 'table'],
  ['42703', 'column'],
  ['22P02', 'type'],
])(
  'answers %s, a %s that a later version has taken away, as something to be tried again',
  (code) => {
    const error: DatabaseError = Object.assign(new DatabaseError('is not there', 0, 'error'), {
      code,
    });
    expect(toCallerError(error)).toMatchObject({
      errorName: 'ServiceUnavailable',
      message: expect.stringContaining('later version'),
      // For the log: it may be a mistake of this version too.
      cause: error,
    });
  },
);
