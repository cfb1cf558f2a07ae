import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { element, send, sendJson, sendMethod, sendPath, useQueue } from './requests.ts';

const server = useQueue();

describe('HTTP', () => {
  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])('method %s is refused', async (method) => {
    for (const url of [server.url, server.queueUrl]) {
      const { status } = await send(`${url}?Action=DeleteQueue`, { method });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }
    const { status } = await sendJson(server.url, 'ReceiveMessage', {
      QueueUrl: server.queueUrl,
    });
    expect(status).toBe(200);
  });

  it.each(METHODS.filter((method) => !['CONNECT', 'GET', 'HEAD', 'POST'].includes(method)))(
    'method %s is no action, whatever comes with it',
    async (method) => {
      for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'none' }]) {
        for (const body of ['', 'x']) {
          expect(await sendMethod(server.url, method, headers, body)).toEqual({
            status: 404,
            body: '<UnknownOperationException/>',
          });
        }
      }
    },
  );

  it.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/cbor',
  ])('content type %s without a target is no action', async (type) => {
    const { status, body } = await send(server.url, {
      method: 'POST',
      headers: { 'content-type': type },
      body: 'Action=ListQueues',
    });
    expect([status, body]).toEqual([404, '<UnknownOperationException/>']);
  });

  it.each([
    'application/json',
    'application/x-amz-json-1.1',
    'application/x-amz-json-1.0; charset=utf-8',
  ])('content type %s with a target is taken for JSON', async (type) => {
    const { status, body } = await sendJson(
      server.url,
      'ListQueues',
      { QueueNamePrefix: 'none' },
      { 'content-type': type },
    );
    expect([status, body]).toEqual([200, '{}']);
  });

  it.each(['HTTP/1.0\r\n', 'HTTP/1.1\r\nHost:\r\nConnection: close\r\n'])(
    'a request of %j, without a host, gets queue URLs that lead here',
    async (opening) => {
      const { hostname, port } = new URL(server.url);
      const socket = connect(Number(port), hostname);
      socket.write(`GET /?Action=GetQueueUrl&QueueName=queue ${opening}\r\n`);
      expect(element(await text(socket), 'QueueUrl')).toBe(server.queueUrl);
    },
  );

  it.each([
    '//',
    '///000000000000/queue',
    '//[',
    '/%',
    '/%00',
    '/%zz?Action=ListQueues',
    '/..//../?Action=ListQueues',
    '/000000000000/queue%2F?Action=ReceiveMessage',
    '/000000000000/%71ueue?Action=ReceiveMessage&QueueUrl=%00',
    `/${'x'.repeat(3_000)}?Action=ListQueues`,
    `/${'x/'.repeat(1_000)}?Action=ListQueues`,
    '/?Action=ListQueues&'.padEnd(8_000, 'a=b&'),
  ])('path %s is no failure of the server', async (path) => {
    const { status } = await sendPath(server.url, path);
    expect(status).toBeGreaterThanOrEqual(200);
    expect(status).toBeLessThan(500);
  });
});
