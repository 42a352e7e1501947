/**
 * @file Starts a workerd on a free port of this machine, and stops it.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { configuration } from './config.js';

/** The program that the package `workerd` brings. @type {string} */
const BINARY = createRequire(import.meta.url)('workerd').default;

/**
 * @typedef {object} Workerd
 * @property {string} url Where it listens.
 * @property {Promise<number | null>} ended Its exit code, when it has ended.
 * @property {() => Promise<unknown>} stop
 */

/**
 * Starts a workerd. It ends with this process, however that ends.
 *
 * @param {Omit<import('./config.js').Setup, 'storage'> & { storage?: string }} setup Without a
 *   storage, state is gone when it has ended.
 * @returns {Promise<Workerd>}
 */
export async function launch(setup) {
  const folder = mkdtempSync(join(tmpdir(), 'fusewire-workerd-'));
  const config = join(folder, 'config.capnp');
  const storage = setup.storage ?? join(folder, 'state');
  mkdirSync(storage, { recursive: true });
  writeFileSync(config, configuration({ ...setup, storage }, folder));
  const child = spawn(BINARY, ['serve', '--experimental', '--control-fd=3', config], {
    // What the worker logs goes to the standard error, and leaves the output to the launcher.
    stdio: ['ignore', process.stderr, process.stderr, 'pipe'],
  });
  const guardian = stopWithThisProcess(/** @type {number} */ (child.pid), folder);
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      guardian.kill();
      rmSync(folder, { recursive: true, force: true });
      resolve(code);
    });
  });
  const port = await Promise.race([portOf(child), ended]);
  if (typeof port !== 'string') {
    throw new Error(`workerd ended with code ${port} before it listened`);
  }
  const stop = () => {
    child.kill();
    return ended;
  };
  return { url: `http://127.0.0.1:${port}`, ended, stop };
}

/**
 * Stops a process when this one is gone, be it killed: a shell that waits for the end of its input.
 *
 * @param {number} pid
 * @param {string} folder Is removed then.
 */
function stopWithThisProcess(pid, folder) {
  const script = 'cat >/dev/null; kill "$0" 2>/dev/null; rm -rf "$1"';
  return spawn('sh', ['-c', script, String(pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] });
}

/**
 * The port that workerd says it listens on.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<string>}
 */
function portOf(child) {
  const control = /** @type {import('node:stream').Readable} */ (child.stdio[3]);
  return new Promise((resolve) => {
    createInterface({ input: control }).on('line', (line) => {
      const said = JSON.parse(line);
      if (said.event === 'listen') {
        resolve(String(said.port));
      }
    });
  });
}
