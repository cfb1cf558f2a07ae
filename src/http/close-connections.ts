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
  app.addHook('onRequest', async (_request, reply) => {
    answering += 1;
    // Comes once for each answer, whether it was sent whole or the client hung up.
    reply.raw.once('close', () => {
      answering -= 1;
      closeWhenAnswered();
    });
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) {
      reply.header('connection', 'close');
    }
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    closeWhenAnswered();
  });
}
