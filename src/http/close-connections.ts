import { type Socket, Server as TcpServer } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** So long a request may be on its way when its connection looks idle. */
const transitMs = 100;

/**
 * So long a client may take to send the rest of its request and read the answer. It is less than the time limit of a
 * shutdown, so that the database connections are closed in order as well.
 */
const answerLimitMs = 6_000;

/**
 * Lets a closing server answer what was sent to it, and end as soon as that is done. By itself Node.js cuts connections
 * that look idle while a request arrives on them, and waits for clients that connected and send nothing.
 *
 * @param endWaits ends requests that wait; called when answers end their connections
 */
export function closeConnectionsWhenAnswered(app: FastifyInstance, endWaits: () => void): void {
  /** How many requests of a connection have no answer yet. */
  const answering = new Map<Socket, number>();
  let isClosing = false;
  let mayCutIdle = false;

  const cutWhenIdle = () => {
    if (mayCutIdle && answering.size === 0) {
      app.server.closeAllConnections();
    }
  };
  app.server.on('connection', (socket) => {
    // Of a request that was still behind others nothing else tells that its client hung up.
    socket.once('close', () => {
      answering.delete(socket);
      cutWhenIdle();
    });
  });
  // With callbacks, which cost less per request than promises.
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    reply.raw.once('close', () => {
      const left = (answering.get(socket) ?? 1) - 1;
      if (left > 0) {
        answering.set(socket, left);
      } else {
        answering.delete(socket);
        cutWhenIdle();
      }
    });
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    // Node.js ends the connection after an answer that says so, whatever else waits on it.
    if (isClosing && answering.get(request.raw.socket) === 1) {
      reply.header('connection', 'close');
    }
    done();
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    endWaits();
    if (!app.server.listening) {
      return;
    }
    const ended = new Promise((resolve) => {
      // Not the method of the HTTP server, which would cut connections.
      TcpServer.prototype.close.call(app.server, resolve);
    });
    const transit = setTimeout(() => {
      mayCutIdle = true;
      cutWhenIdle();
    }, transitMs);
    const limit = setTimeout(() => app.server.closeAllConnections(), answerLimitMs);
    await ended;
    clearTimeout(transit);
    clearTimeout(limit);
  });
}
