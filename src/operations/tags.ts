import { SqsError } from '../sqs/errors.ts';
import { limits } from '../sqs/limits.ts';

const tagKeyLength = 128;
const tagValueLength = 256;
const tagText = /^[\p{L}\p{N}\p{Z}_.:/=+\-@]*$/u;

/** @throws {SqsError} InvalidParameterValue */
export function requireTags(tags: Record<string, string>): void {
  const invalid = (message: string) => new SqsError('InvalidParameterValue', message);
  const entries = Object.entries(tags);
  if (entries.length > limits.tagsPerQueue) {
    throw invalid(`Too many tags: ${entries.length}, the maximum is ${limits.tagsPerQueue}.`);
  }
  for (const [key, value] of entries) {
    if (key.length < 1 || key.length > tagKeyLength) {
      throw invalid('Tag keys must be between 1 and 128 characters in length.');
    }
    if (!tagText.test(key)) {
      throw invalid(
        'Tag keys may only contain unicode letters, digits, whitespace, or one of these symbols: _ . : / = + - @',
      );
    }
    if (value.length > tagValueLength || !tagText.test(value)) {
      throw invalid(
        'Tag values may only contain unicode letters, digits, whitespace, or one of these symbols: _ . : / = + - @, and be up to 256 characters in length.',
      );
    }
  }
}
