import { SqsError } from '../sqs/errors.ts';
import { Type } from '../sqs/shapes/schema.ts';
import type { DecodedRequest, WireAnswer } from './codec.ts';
import { readJsonShape } from './json-shape.ts';

/** AWS JSON 1.0, which all current AWS SDKs speak. */

const contentType = 'application/x-amz-json-1.0';
const targetPrefix = 'AmazonSQS.';

function parseBody(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new SqsError('MalformedInput', 'The request body is not valid JSON.');
  }
}

/** @throws {SqsError} InvalidAction */
export function decodeJsonRequest(target: string | undefined, body: Buffer): DecodedRequest {
  if (target === undefined || !target.startsWith(targetPrefix)) {
    throw new SqsError(
      'InvalidAction',
      `The X-Amz-Target header must be ${targetPrefix} and an action.`,
    );
  }
  return {
    action: target.slice(targetPrefix.length),
    isAllowedAnywhere: true,
    readInput: (shape) => readJsonShape(shape, parseBody(body)),
    writeOutput: (_action, shape, output) => {
      // An action without output members answers an empty body; one with members at least {}.
      const isVoid = Type.IsObject(shape) && Object.keys(shape.properties).length === 0;
      return {
        status: 200,
        headers: { 'content-type': contentType },
        body: isVoid ? '' : JSON.stringify(output),
      };
    },
  };
}

export function writeJsonError(error: SqsError): WireAnswer {
  const fault = error.isSenderFault ? 'Sender' : 'Receiver';
  return {
    status: error.status,
    headers: {
      'content-type': contentType,
      'x-amzn-query-error': `${error.queryCode};${fault}`,
    },
    body: JSON.stringify({ __type: error.type, message: error.message }),
  };
}
