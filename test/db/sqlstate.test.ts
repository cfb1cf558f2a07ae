import { DatabaseError } from 'pg';
import { expect, it } from 'vitest';
import { toCallerError } from '../../src/db/sqlstate.ts';

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('as PostgreSQL words it', 0, 'error'), { code });
}

it.each([
  ['42883, a function that a later version has taken away', /later version/, /another schema/],
  ['42P01, a table that a later version has taken away', /later version/, /another schema/],
  ['42703, a column that a later version has taken away', /later version/, /another schema/],
  ['22P02, a type that a later version has changed', /later version/, /another schema/],
  ['3F000, a schema that is not there', /is not there/, /schema trunkline/],
  ['3D000, a database that is not there', /is not there/, /database of DATABASE_URL/],
  ['25006, a database that has become a standby', /takes no changes/, /standby/],
  ['28000, a role that may not connect', /refuses the server/, /role of DATABASE_URL/],
  ['28P01, a password that was changed', /refuses the server/, /role of DATABASE_URL/],
  ['42501, a right that was taken away', /refuses the server/, /role of DATABASE_URL/],
  ['57014, a statement that was cancelled', /took the database too long/, /statement_timeout/],
])(
  'answers %s, as something to be tried again, and has the rest for the log',
  (what, answer, report) => {
    const error = databaseError(what.slice(0, 5));
    expect(toCallerError(error)).toMatchObject({
      errorName: 'ServiceUnavailable',
      message: expect.stringMatching(answer),
      cause: { message: expect.stringMatching(report), cause: error },
    });
  },
);

it.each(['08006', '53300', '57P01', '57P03'])(
  'answers %s as a database that cannot be reached',
  (code) => {
    expect(toCallerError(databaseError(code))).toMatchObject({
      errorName: 'ServiceUnavailable',
      message: expect.stringContaining('cannot be reached'),
    });
  },
);

it.each(['40001', '40P01'])('answers %s, a conflict, as what it is', (code) => {
  expect(toCallerError(databaseError(code))).toMatchObject({
    errorName: 'ServiceUnavailable',
    message: expect.stringContaining('at the same time'),
  });
});

it('answers 55P03, a lock of another transaction, without a word of the database being away', () => {
  expect(toCallerError(databaseError('55P03'))).toMatchObject({
    errorName: 'ServiceUnavailable',
    message: expect.stringContaining('transaction that has not ended'),
  });
});
