/**
 * @file A real HTTP server on a free port of this machine, which misbehaves as it is told.
 */

import http from 'node:http';
import { once } from 'node:events';

/**
 * @typedef {(request: http.IncomingMessage, response: http.ServerResponse) => void} Manner
 */

/** @type {Record<string, Manner>} */
const MANNERS = {
  '/ok': (_, response) => response.end('all is well'),
  '/empty': (_, response) => response.writeHead(204).end(),
  '/down': (_, response) => response.writeHead(503).end('out of service'),
  '/long': (_, response) => response.end('x'.repeat(400_000)),
  '/reset': (request) => request.socket.resetAndDestroy(),
  '/hang': () => {},
  '/break': (_, response) => {
    response.writeHead(200);
    response.write('a part');
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  },
  '/stall': (_, response) => {
    response.writeHead(200);
    response.write('a part');
  },
  '/short': (_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('too little');
    setTimeout(() => response.socket?.end(), 20);
  },
  '/garbage': (request) => request.socket.end('this is not HTTP\r\n\r\n'),
};

export class Upstream {
  #server;
  /** How many requests it has seen, by their paths. @type {Map<string, number>} */
  seen = new Map();

  /** @param {http.Server} server */
  constructor(server) {
    this.#server = server;
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    this.url = `http://127.0.0.1:${port}`;
    server.on('request', (request, response) => {
      const path = request.url ?? '';
      this.seen.set(path, (this.seen.get(path) ?? 0) + 1);
      (MANNERS[path] ?? MANNERS['/ok'])(request, response);
    });
  }

  static async start() {
    const server = http.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Upstream(server);
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
