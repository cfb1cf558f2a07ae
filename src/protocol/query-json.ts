import { queryNames, type TSchema, Type } from '../sqs/shapes/schema.ts';

/**
 * The JSON that the Query protocol answers to `Accept: application/json`: the elements of the XML as members,
 * lists under their names with a small first letter, maps as arrays of their entries.
 */
export function toQueryJson(schema: TSchema, value: unknown): unknown {
  if (Type.IsArray(schema) && Array.isArray(value)) {
    return value.map((item) => toQueryJson(schema.items, item));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (Type.IsRecord(schema)) {
    const names = queryNames(schema);
    const valueSchema = Type.RecordValue(schema);
    return Object.entries(value).map(([key, item]) => ({
      [names.key]: key,
      [names.value]: toQueryJson(valueSchema, item),
    }));
  }
  if (!Type.IsObject(schema)) {
    return value;
  }
  const members: [string, unknown][] = [];
  for (const [name, memberSchema] of Object.entries(schema.properties)) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined) {
      const key = Type.IsArray(memberSchema) ? name.charAt(0).toLowerCase() + name.slice(1) : name;
      members.push([key, toQueryJson(memberSchema, member)]);
    }
  }
  return Object.fromEntries(members);
}
