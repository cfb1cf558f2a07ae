import * as sdk from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { errorCatalogue, SqsError } from '../../src/sqs/errors.ts';

const entries = Object.entries(errorCatalogue);

/** What the service model, as the SDK carries it, says of an error. */
interface ModelledError {
  name: string;
  queryCode: string;
  status: number;
}

/** A shape of the SDK's service model: kind, namespace, name, and traits, in this order. */
function readModelledError(shape: unknown): ModelledError | undefined {
  if (!Array.isArray(shape) || typeof shape[3] !== 'object' || shape[3] === null) {
    return undefined;
  }
  const [, namespace, name, traits] = shape;
  if (namespace !== 'com.amazonaws.sqs' || !Array.isArray(traits.awsQueryError)) {
    return undefined;
  }
  const [queryCode, status] = traits.awsQueryError;
  return { name, queryCode, status };
}

const modelled = new Map(
  Object.values(sdk)
    .map(readModelledError)
    .filter((error) => error !== undefined)
    .map((error) => [error.name, error]),
);

describe('The catalogue of errors', () => {
  it.each(entries)('gives %s a type, a code and a status of an error', (_name, entry) => {
    expect(entry.type).toMatch(/^com\.(amazonaws\.sqs|amazon\.coral\.service)#[A-Z][A-Za-z]+$/);
    expect(entry.queryCode).toMatch(/^(AWS\.SimpleQueueService\.)?[A-Z][A-Za-z]+$/);
    expect(entry.status).toBeGreaterThanOrEqual(400);
    expect(entry.status).toBeLessThan(600);
  });

  it.each(['type', 'queryCode'] as const)('gives no two errors the same %s', (member) => {
    const values = entries.map(([, entry]) => entry[member]);
    expect(new Set(values).size).toBe(values.length);
  });

  it('agrees with the service model on code and status', () => {
    const compared = entries.flatMap(([, { type, queryCode, status }]) => {
      const model = modelled.get(type.split('#')[1] ?? '');
      return model && type.startsWith('com.amazonaws.sqs#')
        ? [{ actual: { queryCode, status }, expected: model }]
        : [];
    });
    expect(compared.length).toBeGreaterThan(10);
    for (const { actual, expected } of compared) {
      expect(expected).toMatchObject(actual);
    }
  });

  it.each([
    'BatchEntryIdsNotDistinct',
    'BatchRequestTooLong',
    'EmptyBatchRequest',
    'InvalidAddress',
    'InvalidAttributeName',
    'InvalidAttributeValue',
    'InvalidBatchEntryId',
    'InvalidMessageContents',
    'OverLimit',
    'PurgeQueueInProgress',
    'QueueDeletedRecently',
    'QueueDoesNotExist',
    'QueueNameExists',
    'ReceiptHandleIsInvalid',
    'TooManyEntriesInBatchRequest',
    'UnsupportedOperation',
  ])('has %s, which the actions on standard queues can answer', (name) => {
    expect(entries.map(([, { type }]) => type)).toContain(`com.amazonaws.sqs#${name}`);
  });

  it('says whose fault an error is by its status', () => {
    expect(new SqsError('InvalidAction', '').isSenderFault).toBe(true);
    expect(new SqsError('ServiceUnavailable', '').isSenderFault).toBe(false);
  });
});
