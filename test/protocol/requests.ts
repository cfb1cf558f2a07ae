import { type RequestOptions, request } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { type TestServer, useServer } from '../support/server.ts';

export interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

const giveUpAfterMs = 10_000;

export async function send(url: string, options: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(giveUpAfterMs), ...options });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** A request of the JSON protocol; a body that is no text yet is written as JSON. */
export function sendJson(
  url: string,
  action: string,
  body: object | string = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${action}`,
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** A request of the Query protocol. */
export function sendForm(
  url: string,
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(parameters).toString(),
  });
}

/** A request whose path goes over the wire exactly as given, which fetch() would tidy up. */
export function sendPath(url: string, path: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url);
  return sendRaw({ hostname, port, path }, '');
}

/** A request with a method or with headers that fetch() does not take. */
export function sendMethod(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url);
  const length = String(Buffer.byteLength(body));
  return sendRaw(
    { hostname, port, method, headers: { ...headers, 'content-length': length } },
    body,
  );
}

function sendRaw(options: RequestOptions, body: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, agent: false, timeout: giveUpAfterMs }, (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        answer += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: answer }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('The request was not answered.')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What the JSON protocol tells about an error. */
export function jsonError({ status, headers, body }: Answer) {
  const { __type: type, message } = JSON.parse(body);
  return { status, type, queryError: headers.get('x-amzn-query-error'), message };
}

/** What the Query protocol tells about an error. */
export function xmlError({ status, body }: Answer) {
  return { status, code: element(body, 'Code'), message: element(body, 'Message') };
}

/** The text of the first element of that name. */
export function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}

/** A server, and a queue on it that exists before the tests of a file run. */
export function useQueue(): TestServer & { queueUrl: string; close(): Promise<void> } {
  const server = useServer(useDatabase());
  const handle = Object.assign(server, { queueUrl: '' });
  beforeAll(async () => {
    const { body } = await sendJson(server.url, 'CreateQueue', { QueueName: 'queue' });
    handle.queueUrl = JSON.parse(body).QueueUrl;
  });
  afterAll(() => {
    handle.queueUrl = '';
  });
  return handle;
}
