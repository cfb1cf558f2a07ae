import type { SqsError } from '../sqs/errors.ts';
import type { DecodedRequest, WireAnswer } from './codec.ts';
import { parameterTree, readQueryShape } from './query-shape.ts';
import { toXmlNode, xmlDocument } from './xml-shape.ts';

/** The AWS Query protocol: form parameters in, XML out. Older SDKs and hand-written clients speak it. */

const contentType = 'text/xml';

/** The request, or undefined when it names no action. */
export function decodeQueryRequest(
  parameters: URLSearchParams,
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
    writeOutput: (name, shape, output) => {
      const result = toXmlNode(shape, output);
      const isVoid =
        typeof result === 'object' && 'properties' in shape && isEmpty(shape.properties);
      return {
        status: 200,
        headers: { 'content-type': contentType },
        body: xmlDocument(`${name}Response`, {
          ...(isVoid ? {} : { [`${name}Result`]: result }),
          ResponseMetadata: { RequestId: requestId },
        }),
      };
    },
  };
}

function isEmpty(members: unknown): boolean {
  return typeof members === 'object' && members !== null && Object.keys(members).length === 0;
}

export function writeQueryError(error: SqsError, requestId: string): WireAnswer {
  return {
    status: error.status,
    headers: { 'content-type': contentType },
    body: xmlDocument('ErrorResponse', {
      Error: {
        Type: error.isSenderFault ? 'Sender' : 'Receiver',
        Code: error.queryCode,
        Message: error.queryMessage,
        Detail: '',
      },
      RequestId: requestId,
    }),
  };
}

/** What AWS answers to a request of this protocol without an action. */
export function unknownOperation(): WireAnswer {
  return {
    status: 404,
    headers: { 'content-type': contentType },
    body: '<UnknownOperationException/>',
  };
}
