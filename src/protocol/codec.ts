import type { Static, TSchema } from '../sqs/shapes/schema.ts';

/**
 * Items of a list or a map at most, and parameters of a form. No request has use for nearly as many, and to read
 * hundreds of thousands would keep all others waiting for seconds.
 */
export const mostMembers = 10_000;

/** An answer on its way out. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** One request as one protocol reads it: which action, its input, and how answers are written. */
export interface DecodedRequest {
  action: string;
  /** Whether the protocol takes every action on every path, also on a queue's. */
  isAllowedAnywhere: boolean;
  readInput<Shape extends TSchema>(shape: Shape): Static<Shape>;
  writeOutput(action: string, shape: TSchema, output: unknown): WireAnswer;
}
