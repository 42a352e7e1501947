/**
 * @file A real HTTP server on a free port of this machine, which misbehaves as it is told.
 */

import http from 'node:http';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';

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
  '/over-limit': (_, response) => json(response, OVER_LIMIT),
  '/over-limit-zipped': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync(OVER_LIMIT));
  },
  '/arcgis-error': (_, response) =>
    json(response, '{"error":{"code":500,"message":"Error performing query","details":[]}}'),
  '/places': (_, response) => json(response, PLACES),
  '/events': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': no token yet\n\ndata: {"token":"one"}\n\n');
  },
  '/head-first': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  },
  '/nothing': (_, response) => response.end(),
  '/broken-json': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"results":[');
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  },
  '/garbage': (request) => request.socket.end('this is not HTTP\r\n\r\n'),
};

const OVER_LIMIT = '{"results":[],"status":"OVER_QUERY_LIMIT"}';
/** A good answer that is longer than what any policy looks at. */
export const PLACES = JSON.stringify({
  status: 'OK',
  results: Array.from({ length: 9_000 }, (_, i) => ({ place: `number ${i}`, lat: i / 100 })),
});

/**
 * @param {http.ServerResponse} response
 * @param {string} text
 */
function json(response, text) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

export class Upstream {
  #server;
  /** The streams of events that are under way at `/events`. @type {http.ServerResponse[]} */
  streams = [];
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
      if (path === '/events') {
        this.streams.push(response);
      }
      (MANNERS[path] ?? MANNERS['/ok'])(request, response);
    });
  }

  static async start() {
    const server = http.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Upstream(server);
  }

  /** Closes every connection, answered or not. */
  hangUp() {
    this.#server.closeAllConnections();
  }

  async stop() {
    this.hangUp();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
