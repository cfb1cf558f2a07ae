import fc, { type Arbitrary } from 'fast-check';
import { queryNames, type TSchema, Type } from '../../src/sqs/shapes/schema.ts';

/** Random inputs of an action's shape, and their writing as a form. */

/** Any text that both wires can carry: half a surrogate pair has no encoding in a form. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' ', 'a=b&c', '%41', '+', '\r\n', '.', '1', 'é€𝄞', '\u{0}'),
);

const integer = fc.integer({ min: -(2 ** 31) + 1, max: 2 ** 31 - 1 });

/**
 * Inputs that say something wherever a form can say it: a form has no empty lists or maps beside absent
 * ones, and no structures without a member.
 */
export function shapeArbitrary(schema: TSchema): Arbitrary<unknown> {
  if (Type.IsArray(schema)) {
    return fc.array(shapeArbitrary(schema.items), { minLength: 1, maxLength: 4 });
  }
  if (Type.IsRecord(schema)) {
    return fc.dictionary(text, shapeArbitrary(Type.RecordValue(schema)), {
      minKeys: 1,
      maxKeys: 4,
    });
  }
  if (Type.IsObject(schema)) {
    const members = Object.entries(schema.properties).map(
      ([name, member]) => [name, shapeArbitrary(member)] as const,
    );
    return fc
      .record(Object.fromEntries(members), { requiredKeys: [] })
      .filter((value) => Object.keys(value).length > 0);
  }
  return Type.IsInteger(schema) ? integer : text;
}

/**
 * The parameters of the Query protocol for a value, each with its full name. What is not of its shape is
 * written as a leaf.
 */
export function* formParameters(
  schema: TSchema,
  value: unknown,
  name: string,
): Generator<[string, string]> {
  if (Type.IsArray(schema) && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield* formParameters(schema.items, item, `${name}.${index + 1}`);
    }
  } else if (Type.IsRecord(schema) && isObject(value)) {
    const { key, value: valueName } = queryNames(schema);
    for (const [index, [itemKey, item]] of Object.entries(value).entries()) {
      yield [`${name}.${index + 1}.${key}`, itemKey];
      yield* formParameters(Type.RecordValue(schema), item, `${name}.${index + 1}.${valueName}`);
    }
  } else if (Type.IsObject(schema) && isObject(value)) {
    for (const [memberName, member] of Object.entries(value)) {
      const memberSchema = schema.properties[memberName] ?? Type.String();
      const isCollection = Type.IsArray(memberSchema) || Type.IsRecord(memberSchema);
      const element = isCollection ? queryNames(memberSchema).element : memberName;
      yield* formParameters(memberSchema, member, name === '' ? element : `${name}.${element}`);
    }
  } else {
    yield [name, typeof value === 'string' ? value : JSON.stringify(value)];
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
