import type { FastifyInstance } from 'fastify';

/**
 * Lets a closing server end as soon as its answers are sent. Without this a client that keeps its connection
 * open, or connected and sent nothing, would hold it up until the keep-alive timeout.
 */
export function closeConnectionsWhenAnswered(app: FastifyInstance): void {
  let answering = 0;
  let isClosing = false;

  const closeWhenAnswered = () => {
    if (isClosing && answering === 0) {
      app.server.closeAllConnections();
    }
  };
  // With callbacks, which cost less per request than promises.
  app.addHook('onRequest', (_request, reply, done) => {
    answering += 1;
    // Comes once for each answer, whether it was sent whole or the client hung up.
    reply.raw.once('close', () => {
      answering -= 1;
      closeWhenAnswered();
    });
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) {
      reply.header('connection', 'close');
    }
    done();
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    closeWhenAnswered();
  });
}
