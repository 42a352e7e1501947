/**
 * @file A real redis-server on a free port of this machine, for one test.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { once } from 'node:events';

/** How long a server may take to answer after its start, in ms. */
const PATIENCE_MS = 20_000;
/** How often a start is tried, as a port that was free may be taken meanwhile. */
const TRIES = 10;

/** Where `make setup` puts what it brings. */
const CACHE =
  process.env.FUSEWIRE_CACHE ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fusewire');

function program() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), join(CACHE, 'bin')];
  const found = folders.map((folder) => join(folder, 'redis-server')).find(existsSync);
  if (!found) {
    throw new Error('there is no redis-server on this machine; `make setup` brings one');
  }
  return found;
}

export class RedisServer {
  #child;
  #home;

  /**
   * @param {object} of
   * @param {number} of.port
   * @param {import('node:child_process').ChildProcess} of.child
   * @param {string} of.home
   */
  constructor({ port, child, home }) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#child = child;
    this.#home = home;
    // A test that failed may not have come to its end.
    process.once('exit', () => this.#end());
  }

  /**
   * Starts a server, and waits until it answers.
   *
   * @param {number} [port] By default one that is free.
   * @returns {Promise<RedisServer>}
   */
  static async start(port) {
    for (let tries = 1; ; tries += 1) {
      const server = await RedisServer.#launch(port ?? (await freePort()));
      if (server) {
        return server;
      }
      if (tries === TRIES) {
        throw new Error(`no redis-server starts in ${TRIES} tries`);
      }
    }
  }

  /**
   * @param {number} port
   * @returns {Promise<RedisServer | undefined>} None where somebody else has the port by now.
   */
  static async #launch(port) {
    const home = mkdtempSync(join(tmpdir(), 'fusewire-redis-'));
    const options = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--dir', home];
    const child = spawn(program(), ['--port', String(port), ...options], { stdio: 'ignore' });
    const server = new RedisServer({ port, child, home });
    const deadline = performance.now() + PATIENCE_MS;
    while (child.exitCode === null && performance.now() < deadline) {
      if (await answers(port, child.pid)) {
        return server;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await server.kill();
    return undefined;
  }

  /** It answers nobody from now on, and closes no connection. */
  freeze() {
    this.#child.kill('SIGSTOP');
  }

  /** It goes on. */
  thaw() {
    this.#child.kill('SIGCONT');
  }

  /** Kills the server. What it kept is gone. */
  async kill() {
    const gone = this.#isAlive ? once(this.#child, 'exit') : undefined;
    this.#end();
    await gone;
  }

  get #isAlive() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #end() {
    if (this.#isAlive) {
      this.#child.kill('SIGKILL');
    }
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A port of this machine that nobody listens on. */
export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Whether the server on this port answers, and is this process.
 *
 * @param {number} port
 * @param {number | undefined} pid
 * @returns {Promise<boolean>}
 */
function answers(port, pid) {
  return new Promise((resolve) => {
    let said = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write('INFO server\r\n'));
    socket.on('data', (data) => {
      said += data;
      if (said.includes('process_id:') && said.endsWith('\r\n')) {
        socket.destroy();
        resolve(said.includes(`process_id:${pid}\r\n`));
      }
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
