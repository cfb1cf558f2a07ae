import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { isIPv6, type Socket } from 'node:net';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { execute } from '../operations/execute.ts';
import type { Services } from '../operations/operation.ts';
import { decodeJsonRequest, writeJsonError } from '../protocol/aws-json.ts';
import {
  decodeQueryRequest,
  type QueryFormat,
  queryFormat,
  readParameters,
  unknownOperation,
  writeQueryError,
} from '../protocol/aws-query.ts';
import type { WireAnswer } from '../protocol/codec.ts';
import { SqsError } from '../sqs/errors.ts';
import { addressFromPath } from '../sqs/queue-address.ts';
import { closeConnectionsWhenAnswered } from './close-connections.ts';

export interface QueueApiOptions {
  services: Services;
  /** The base of queue URLs; undefined: the host that the client used, and the prefix of the routes. */
  baseUrl: string | undefined;
}

export interface AppOptions extends QueueApiOptions {
  logLevel: string;
  /** Resolves when the server can do its work; rejects with the reason when it cannot. */
  checkHealth(): Promise<void>;
  /** Ends requests that wait; called when the app closes. */
  endWaits(): void;
}

/**
 * A message of 1 MiB takes up to six times as many bytes on the wire: JSON may write each of its characters
 * as an escape. Beyond that no valid request exists.
 */
const bodyLimitBytes = 7 * 1024 * 1024;

/**
 * So long a client may take to send a request: 7 MiB over a slow line, but what arrived of it is not held for ever. The
 * wait of a long poll comes after that and does not count. Node.js looks every 30 seconds.
 */
const requestTimeoutMs = 60_000;

const methods = ['GET', 'POST'];

/** Longer than the idle timeouts of usual clients and proxies, so that it is they who hang up. */
const keepAliveTimeoutMs = 75_000;

export function buildApp({
  services,
  baseUrl,
  logLevel,
  checkHealth,
  endWaits,
}: AppOptions): FastifyInstance {
  const app = fastify({
    logger: { level: logLevel, serializers: { err: describeError } },
    logController: new LogController({ disableRequestLogging: true }),
    keepAliveTimeout: keepAliveTimeoutMs,
    requestTimeout: requestTimeoutMs,
    genReqId: () => randomUUID(),
    // A logger for each request would cost more than reading it. What is logged names the request by itself.
    childLoggerFactory: (logger) => logger,
    exposeHeadRoutes: false,
    // Requests that come while the server closes are still answered, by the protocol that they speak.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => send(reply, request.id, unknownOperation()),
    routerOptions: { maxParamLength: 2_000 },
  });

  closeConnectionsWhenAnswered(app, endWaits);
  addQueueApi(app, { services, baseUrl });

  app.get('/health', async (_request, reply) => {
    try {
      await checkHealth();
      return { status: 'ok' };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return reply.status(503).send({ status: 'unavailable', reason });
    }
  });

  return app;
}

/** Adds the SQS API below the prefix of an instance, whose parsers and error handler become the API's. */
export function addQueueApi(app: FastifyInstance, { services, baseUrl }: QueueApiOptions): void {
  // The protocols tell themselves apart by more than the content type, so every body arrives as bytes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });

  app.setErrorHandler((error, request, reply) => {
    // Fastify itself refuses some requests with other methods, such as a QUERY without a content type.
    const wireAnswer = methods.includes(request.method)
      ? writeError(request, toSqsError(error, request))
      : unknownOperation();
    send(reply, request.id, wireAnswer);
  });

  // Methods other than those of the two protocols.
  app.setNotFoundHandler((request, reply) => send(reply, request.id, unknownOperation()));

  for (const url of ['/', '/*']) {
    app.route({
      method: methods,
      url,
      bodyLimit: bodyLimitBytes,
      // With callbacks, as in close-connections.
      handler(request, reply) {
        answer(request).then(
          (wireAnswer) => send(reply, request.id, wireAnswer),
          (error: unknown) => reply.send(error),
        );
      },
    });
  }

  async function answer(request: FastifyRequest): Promise<WireAnswer> {
    const { path } = splitUrl(request);
    const decoded = isJsonProtocol(request)
      ? decodeJsonRequest(header(request, 'x-amz-target'), bodyOf(request))
      : decodeQueryRequest(queryParameters(request), formatOf(request), request.id);
    if (decoded === undefined) {
      return unknownOperation();
    }
    return await execute(
      {
        ...services,
        baseUrl: () => baseUrl ?? `${request.protocol}://${hostOf(request)}${app.prefix}`,
        pathQueue: addressFromPath(path),
        senderId: services.accountId,
        traceHeader: header(request, 'x-amzn-trace-id') || undefined,
        startedAtMs: performance.now(),
        hasHungUp: () => request.raw.socket.destroyed,
        hangUpSignal: () => hangUpSignal(request.raw.socket),
      },
      decoded,
    );
  }
}

/** Just the words of an error: pg hangs whole clients on its errors, cancellation keys included. */
function describeError(error: Error): {
  type: string;
  message: string;
  stack: string;
  code?: string;
} {
  return {
    type: error.name,
    message: error.message,
    stack: error.stack ?? '',
    ...('code' in error && { code: String(error.code) }),
  };
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Not by URL, which takes what follows two slashes for a host. */
function splitUrl(request: FastifyRequest): { path: string; query: string } {
  const [path = '', ...rest] = request.url.split('?');
  return { path, query: rest.join('?') };
}

/** The host that the client used, or the address that it reached where it does not say, as in HTTP/1.0. */
function hostOf(request: FastifyRequest): string {
  const { localAddress = 'localhost', localPort } = request.raw.socket;
  return (
    request.host || `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`
  );
}

function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function contentType(request: FastifyRequest): string {
  return (request.headers['content-type'] ?? '').toLowerCase();
}

function isJsonProtocol(request: FastifyRequest): boolean {
  return (
    request.headers['x-amz-target'] !== undefined ||
    (request.method === 'POST' && /^application\/(x-amz-json|json)/.test(contentType(request)))
  );
}

/** Parameters of the query string and of a form body. What comes later wins, so the body's do. */
function queryParameters(request: FastifyRequest): Map<string, string> {
  const parameters = new Map(readParameters(splitUrl(request).query));
  const type = contentType(request);
  if (type === '' || type.startsWith('application/x-www-form-urlencoded')) {
    for (const [name, value] of readParameters(bodyOf(request).toString('utf8'))) {
      parameters.set(name, value);
    }
  }
  return parameters;
}

/** One for each connection: a listener for each request would add up on a connection that is kept. */
const hangUpSignals = new WeakMap<Socket, AbortSignal>();

/**
 * Aborts when the connection closes. The answer would not tell: as long as it waits for those to earlier requests of
 * the connection, it is not attached to it.
 */
function hangUpSignal(socket: Socket): AbortSignal {
  let signal = hangUpSignals.get(socket);
  if (signal === undefined) {
    const controller = new AbortController();
    if (socket.destroyed) {
      controller.abort();
    }
    socket.once('close', () => controller.abort());
    signal = controller.signal;
    // Each poll of the connection listens while it waits, and any number may.
    setMaxListeners(0, signal);
    hangUpSignals.set(socket, signal);
  }
  return signal;
}

function formatOf(request: FastifyRequest): QueryFormat {
  return queryFormat(header(request, 'accept'));
}

function writeError(request: FastifyRequest, error: SqsError): WireAnswer {
  return isJsonProtocol(request)
    ? writeJsonError(error)
    : writeQueryError(error, formatOf(request), request.id);
}

/** Texts that are in the log already. Of what ails the database every request would tell. */
const told = new Set<string>();

/** What is not the caller's to know is logged whole and answered as an internal failure. */
function toSqsError(error: unknown, request: FastifyRequest): SqsError {
  if (error instanceof SqsError) {
    const { cause } = error;
    if (cause instanceof Error && !told.has(cause.message)) {
      told.add(cause.message);
      request.log.error({ err: cause.cause, requestId: request.id }, cause.message);
    }
    return error;
  }
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new SqsError(
      'RequestEntityTooLarge',
      `The request must be no larger than ${bodyLimitBytes} bytes.`,
    );
  }
  if (isRefusedByFastify(error)) {
    return new SqsError('MalformedInput', 'The request body could not be read.');
  }
  if (request.raw.readableAborted) {
    // Nobody is there to read it, and it is no failure of the server.
    return new SqsError('MalformedInput', 'The client hung up within the request.');
  }
  request.log.error({ err: error, requestId: request.id }, 'A request failed unexpectedly.');
  return new SqsError(
    'InternalFailure',
    'The request failed because of an error in the server. Its log has the details under this request id.',
  );
}

function isRefusedByFastify(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    String(error.code).startsWith('FST_ERR_') &&
    'statusCode' in error &&
    Number(error.statusCode) < 500
  );
}

function send(reply: FastifyReply, requestId: string, { status, headers, body }: WireAnswer): void {
  reply
    .status(status)
    .headers(headers)
    .header('x-amzn-requestid', requestId)
    // The text is whole already. Without this Fastify adds a charset to its type.
    .serializer(unchanged)
    .send(body);
}

function unchanged(body: unknown): string {
  return String(body);
}
