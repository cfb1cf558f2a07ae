import { SqsError } from '../sqs/errors.ts';
import { type TSchema, Type } from '../sqs/shapes/schema.ts';
import { type DecodedRequest, mostMembers, type WireAnswer } from './codec.ts';
import { toQueryJson } from './query-json.ts';
import { parameterTree, readQueryShape } from './query-shape.ts';
import { toXmlNode, xmlDocument } from './xml-shape.ts';

/**
 * The AWS Query protocol: form parameters in, XML out, or JSON if the client says that it accepts that.
 * Older SDKs and hand-written clients speak it.
 */

export type QueryFormat = 'xml' | 'json';

export function queryFormat(accept: string | undefined): QueryFormat {
  return accept?.startsWith('application/json') ? 'json' : 'xml';
}

function xml(status: number, body: string): WireAnswer {
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

function json(status: number, body: unknown): WireAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

function hasMembers(shape: TSchema): boolean {
  return Type.IsObject(shape) && Object.keys(shape.properties).length > 0;
}

/**
 * The parameters of a query string or a form.
 *
 * @throws {SqsError} MalformedInput for more of them than any request has use for
 */
export function readParameters(text: string): URLSearchParams {
  let end = -1;
  for (let count = 0; count < mostMembers; count += 1) {
    end = text.indexOf('&', end + 1);
    if (end === -1) {
      return new URLSearchParams(text);
    }
  }
  throw new SqsError('MalformedInput', `A request may have ${mostMembers} parameters.`);
}

/** The request, or undefined when it names no action. */
export function decodeQueryRequest(
  parameters: ReadonlyMap<string, string>,
  format: QueryFormat,
  requestId: string,
): DecodedRequest | undefined {
  const action = parameters.get('Action');
  if (!action) {
    return undefined;
  }
  return {
    action,
    isAllowedAnywhere: false,
    readInput: (shape) => readQueryShape(shape, parameterTree(parameters)),
    writeOutput(name, shape, output) {
      const metadata = { ResponseMetadata: { RequestId: requestId } };
      // An action without output members has no result element.
      if (format === 'json') {
        const result = hasMembers(shape) ? { [`${name}Result`]: toQueryJson(shape, output) } : {};
        return json(200, { [`${name}Response`]: { ...result, ...metadata } });
      }
      const result = hasMembers(shape) ? { [`${name}Result`]: toXmlNode(shape, output) } : {};
      return xml(200, xmlDocument(`${name}Response`, { ...result, ...metadata }));
    },
  };
}

export function writeQueryError(
  error: SqsError,
  format: QueryFormat,
  requestId: string,
): WireAnswer {
  const details = {
    Type: error.isSenderFault ? 'Sender' : 'Receiver',
    Code: error.queryCode,
    Message: error.queryMessage,
  };
  return format === 'json'
    ? json(error.status, { Error: { ...details, Detail: null }, RequestId: requestId })
    : xml(
        error.status,
        xmlDocument('ErrorResponse', { Error: { ...details, Detail: '' }, RequestId: requestId }),
      );
}

/** What AWS answers to a request of this protocol without an action, in whatever format. */
export function unknownOperation(): WireAnswer {
  return xml(404, '<UnknownOperationException/>');
}
