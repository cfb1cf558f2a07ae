import { SqsError } from '../sqs/errors.ts';
import { type Static, type TSchema, Type } from '../sqs/shapes/schema.ts';
import { mostMembers } from './codec.ts';

/** Integers of the service model are 32 bits wide. */
const integerForm = /^-?\d{1,10}$/;
const largestInteger = 2 ** 31 - 1;

function malformed(message: string): SqsError {
  return new SqsError('MalformedInput', message);
}

/** Rejects what is a collection where a scalar belongs, in the words of AWS's parser. */
function rejectCollection(value: unknown): void {
  if (Array.isArray(value)) {
    throw malformed('Start of list found where not expected');
  }
  if (typeof value === 'object' && value !== null) {
    throw malformed('Start of structure or map found where not expected.');
  }
}

export function integerFromText(value: string): number {
  if (!integerForm.test(value) || Math.abs(Number(value)) > largestInteger) {
    throw malformed('STRING_VALUE can not be converted to an Integer');
  }
  return Number(value);
}

function readInteger(value: unknown): number {
  rejectCollection(value);
  if (typeof value === 'string') {
    return integerFromText(value);
  }
  if (typeof value !== 'number') {
    throw malformed(`${String(value).toUpperCase()}_VALUE can not be converted to an Integer`);
  }
  const whole = Math.trunc(value);
  if (Math.abs(whole) > largestInteger) {
    throw malformed('NUMBER_VALUE can not be converted to an Integer');
  }
  return whole;
}

function requireMembers(value: unknown): Record<string, unknown> {
  if (Array.isArray(value)) {
    throw malformed('Start of list found where not expected');
  }
  if (typeof value !== 'object' || value === null) {
    throw malformed('Expected null');
  }
  return value as Record<string, unknown>;
}

function rejectTooMany(members: readonly unknown[]): void {
  if (members.length > mostMembers) {
    throw malformed(`A list or map may have ${mostMembers} members.`);
  }
}

function read(schema: TSchema, value: unknown): unknown {
  if (Type.IsArray(schema)) {
    if (!Array.isArray(value)) {
      throw malformed('Expected list or null');
    }
    rejectTooMany(value);
    return value.filter((item) => item !== null).map((item) => read(schema.items, item));
  }
  if (Type.IsObject(schema)) {
    const given = requireMembers(value);
    const members: Record<string, unknown> = {};
    for (const name of Object.keys(given)) {
      const known = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
      if (known !== undefined && given[name] !== null) {
        members[name] = read(known, given[name]);
      }
    }
    return members;
  }
  if (Type.IsRecord(schema)) {
    const known = Type.RecordValue(schema);
    const entries = Object.entries(requireMembers(value));
    rejectTooMany(entries);
    return Object.fromEntries(
      entries
        .filter(([, member]) => member !== null)
        .map(([name, member]) => [name, read(known, member)]),
    );
  }
  if (Type.IsInteger(schema)) {
    return readInteger(value);
  }
  rejectCollection(value);
  return String(value);
}

/**
 * Reads parsed JSON as a shape, as lenient as AWS: unknown members and nulls are passed over, numbers and
 * flags stand for text, fractions are cut off.
 *
 * @throws {SqsError} MalformedInput where the kinds do not fit
 */
export function readJsonShape<Shape extends TSchema>(schema: Shape, value: unknown): Static<Shape> {
  // read() builds what the schema says member by member; the compiler cannot follow that.
  return read(schema, value) as Static<Shape>;
}
