import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  status: number;
  body: Buffer;
}

interface Waiting {
  resolve(answer: HttpAnswer): void;
  reject(error: Error): void;
}

/**
 * One keep-alive connection with one request at a time, as cheap as can be: with a client as costly as the
 * server, half of two cores would go to the load generator. Understands answers with a Content-Length only.
 */
export class HttpConnection {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** @param request head and body, as they go over the wire */
  async send(request: Buffer | string): Promise<HttpAnswer> {
    const socket = this.#socket ?? (await this.#connect());
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      socket.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  async #connect(): Promise<Socket> {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    await once(socket, 'connect');
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => {
      if (this.#socket === socket) {
        this.#socket = undefined;
        this.#waiting?.reject(new Error('The server hung up within an answer.'));
      }
    });
    this.#socket = socket;
    return socket;
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headLength = this.#received.indexOf('\r\n\r\n') + 4;
    if (headLength < 4) {
      return;
    }
    const head = this.#received.toString('latin1', 0, headLength);
    const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < headLength + bodyLength) {
      return;
    }
    const answer = {
      status: Number(head.slice(9, 12)),
      body: this.#received.subarray(headLength, headLength + bodyLength),
    };
    this.#received = Buffer.alloc(0);
    if (/\r\nconnection: *close/i.test(head)) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }
}
