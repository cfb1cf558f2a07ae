import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toTrunklineError } from '../../src/client/database-error.ts';
import {
  codeOfSqlState,
  ReceiptHandleExpiredError,
  TrunklineError,
} from '../../src/client/error.ts';

const functions = resolve(import.meta.dirname, '../../migrations/functions');

describe('The error codes', () => {
  it('have one for every SQLSTATE that the functions raise', () => {
    const raised = readdirSync(functions).flatMap((file) =>
      [...readFileSync(join(functions, file), 'utf8').matchAll(/errcode = '(TQ\d+)'/g)].map(
        ([, sqlState]) => sqlState,
      ),
    );
    expect(raised.length).toBeGreaterThan(30);
    expect(
      [...new Set(raised)].filter((sqlState) => !(String(sqlState) in codeOfSqlState)),
    ).toEqual([]);
  });
});

const raised = { code: 'TQ001', message: 'The specified queue does not exist.' };

describe('An error that a function raised is found in', () => {
  it.each([
    ['the error of pg and postgres.js', raised],
    ['DrizzleQueryError', { message: 'Failed query', cause: raised }],
    ['QueryFailedError of TypeORM', { ...raised, driverError: raised }],
    ['the error of Prisma', { code: 'P2010', message: 'Raw query failed', meta: raised }],
    [
      'the error of Prisma on a driver adapter',
      {
        code: 'P2010',
        meta: {
          driverAdapterError: {
            cause: { originalCode: 'TQ001', originalMessage: raised.message, kind: 'postgres' },
          },
        },
      },
    ],
  ])('%s', (_name, given) => {
    const error = toTrunklineError(Object.assign(new Error(), given));
    expect(error).toBeInstanceOf(TrunklineError);
    expect(error).toMatchObject({
      code: 'QueueDoesNotExist',
      sqlState: 'TQ001',
      message: 'The specified queue does not exist.',
    });
  });

  it('a class of its own for a stale receipt handle', () => {
    expect(toTrunklineError({ code: 'TQ008', message: 'stale' })).toBeInstanceOf(
      ReceiptHandleExpiredError,
    );
  });
});

it('an error of the database itself stays as it is', () => {
  const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
  expect(toTrunklineError(deadlock)).toBe(deadlock);
});
