import Type, { type Static, type TSchema } from 'typebox';

/**
 * Builders for the shapes of actions. One shape drives both protocols: the JSON codec takes member names
 * as they are, the Query codec takes the element names given here. All lists and maps are flattened, as
 * they are in the service model of SQS.
 */

/** Element names of the Query protocol: the repeated element, and for a map its key and value in it. */
export interface QueryNames {
  element: string;
  key: string;
  value: string;
}

export function queryNames(schema: TSchema): QueryNames {
  if ('queryNames' in schema) {
    return schema.queryNames as QueryNames;
  }
  throw new Error('A list or map shape has no Query protocol names.');
}

export const text = () => Type.String();
export const integer = () => Type.Integer();
export const flag = () => Type.Boolean();

/** Binary content, in base64 on both wires. */
export const blob = () => Type.String({ contentEncoding: 'base64' });

/** @param options.yieldsTo the member that wins where the Query protocol gives both */
export function list<Item extends TSchema>(
  element: string,
  item: Item,
  options: { yieldsTo?: string } = {},
) {
  return Type.Array(item, { queryNames: { element, key: '', value: '' }, ...options });
}

export function yieldsTo(schema: TSchema | undefined): string | undefined {
  return schema !== undefined && 'yieldsTo' in schema ? String(schema.yieldsTo) : undefined;
}

export function map<Value extends TSchema>(
  element: string,
  value: Value,
  names: { key: string; value: string } = { key: 'Name', value: 'Value' },
) {
  return Type.Record(Type.String(), value, { queryNames: { element, ...names } });
}

/** A structure whose members may all be absent: what must be there is the operation's to say, in AWS's words. */
export function structure<Members extends Record<string, TSchema>>(members: Members) {
  return Type.Partial(Type.Object(members));
}

export type { Static, TSchema };
export { Type };
