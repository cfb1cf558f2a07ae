import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operations } from '../../src/operations/registry.ts';
import { decodeJsonRequest } from '../../src/protocol/aws-json.ts';
import { decodeQueryRequest } from '../../src/protocol/aws-query.ts';
import { type TSchema, Type, yieldsTo } from '../../src/sqs/shapes/schema.ts';
import { formParameters, shapeArbitrary } from './shape-arbitrary.ts';

/** Of two members that exclude each other in the Query protocol, the one that wins. */
function withoutYielding(shape: TSchema, input: unknown): unknown {
  if (!Type.IsObject(shape) || typeof input !== 'object' || input === null) {
    return input;
  }
  const members = Object.entries(input);
  return Object.fromEntries(
    members.filter(([name]) => {
      const winner = yieldsTo(shape.properties[name]);
      return winner === undefined || !members.some(([other]) => other === winner);
    }),
  );
}

describe('Both protocols read the same input', () => {
  it.each([...operations.keys()])('of %s', (action) => {
    const shape = operations.get(action)?.shapes.input;
    if (shape === undefined) {
      throw new Error(`There is no action ${action}.`);
    }
    fc.assert(
      fc.property(shapeArbitrary(shape), (input) => {
        const json = decodeJsonRequest(`AmazonSQS.${action}`, Buffer.from(JSON.stringify(input)));
        // Over the wire and back, so that the escapes of a form are part of it.
        const form = new URLSearchParams([['Action', action], ...formParameters(shape, input, '')]);
        const query = decodeQueryRequest(
          new Map(new URLSearchParams(form.toString())),
          'xml',
          'request id',
        );
        expect(json.action).toBe(action);
        expect(query?.action).toBe(action);
        expect(json.readInput(shape)).toEqual(input);
        const expected = withoutYielding(shape, input);
        expect(query?.readInput(shape)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });
});
