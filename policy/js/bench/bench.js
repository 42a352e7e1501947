/**
 * @file `npm run bench`: what a guarded call costs in Node, against opossum in the same process;
 * how long a policy takes to start in Node and in workerd; and how large the package is.
 *
 * A call is an async function that does nothing, so all that is measured is the guard. Both are run
 * in turns, and the best of each is what the machine can do.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// @ts-ignore: it has no declarations.
import CircuitBreaker from 'opossum';
import { Guard, MemoryStore, loadPolicy } from 'fusewire';

import { driveSetup } from '../workerd/drive-setup.js';
import { launch } from '../workerd/launch.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const ROUNDS = 8;
const CALLS = 40_000;

const nothing = async () => 200;

// One, as in a service: code that runs in several instances is optimised for none of them.
const policy = loadPolicy();

function withFusewire() {
  const guard = new Guard({ policy, store: new MemoryStore() });
  const target = { provider: 'p' };
  return async () => {
    const admitted = await guard.admit(target);
    const status = await nothing();
    const verdict = guard.classify(target, {
      response: { status, headers: [], trailers: [] },
      latencyMs: BigInt(Math.round(admitted.latencyMs)),
      nowMs: BigInt(guard.nowMs()),
      idempotent: true,
      deliveredPartial: false,
      expect: 'any',
    });
    admitted.settle(verdict);
  };
}

function withOpossum() {
  const breaker = new CircuitBreaker(nothing, { timeout: false });
  return () => breaker.fire();
}

/**
 * Calls a second, with so many at once.
 *
 * @param {() => Promise<unknown>} call
 * @param {number} atOnce
 */
async function rate(call, atOnce) {
  let left = CALLS;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, caller));
  return (CALLS / (performance.now() - began)) * 1000;
}

/** @param {number} atOnce */
async function compare(atOnce) {
  const calls = { fusewire: withFusewire(), opossum: withOpossum() };
  const best = { fusewire: 0, opossum: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of /** @type {const} */ (['fusewire', 'opossum'])) {
      best[name] = Math.max(best[name], await rate(calls[name], atOnce));
    }
  }
  const { fusewire, opossum } = best;
  const each = (1e6 / fusewire).toFixed(1);
  console.log(
    `${String(atOnce).padStart(3)} at once: fusewire ${round(fusewire)}/s (${each} µs each), ` +
      `opossum ${round(opossum)}/s, ratio ${(fusewire / opossum).toFixed(2)}`,
  );
}

/** @param {number} number */
function round(number) {
  return Math.round(number / 1000) * 1000;
}

/** From a process that has nothing to one that has admitted a call. */
function startInNode() {
  const code = `
    const began = performance.now();
    const { Guard, loadPolicy } = await import('fusewire');
    const imported = performance.now();
    (await new Guard({ policy: loadPolicy() }).admit({ provider: 'p' })).drop();
    console.log(imported - began, performance.now() - imported);`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: PACKAGE });
  const [imports, first] = ran.stdout.toString().split(' ').map(Number);
  console.log(
    `start in Node: ${imports.toFixed(0)} ms for the import, ` +
      `${first.toFixed(0)} ms for the policy and its first call`,
  );
}

/** From the start of the process to its first answer, with all that workerd does itself. */
async function startInWorkerd() {
  const began = performance.now();
  const workerd = await launch(driveSetup());
  const listening = performance.now();
  const body = '{"describe":{}}';
  await (await fetch(`${workerd.url}/drive`, { method: 'POST', body })).text();
  const answered = performance.now();
  console.log(
    `start in workerd: ${(listening - began).toFixed(0)} ms until it listens (policy loaded), ` +
      `${(answered - listening).toFixed(0)} ms for the first answer`,
  );
  await workerd.stop();
}

function sizes() {
  const folder = join(PACKAGE, 'dist/policy');
  for (const file of readdirSync(folder).filter((name) => /\.(js|wasm)$/.test(name))) {
    const path = join(folder, file);
    const gzipped = gzipSync(readFileSync(path)).length;
    console.log(`dist/policy/${file}: ${statSync(path).size} bytes, ${gzipped} gzipped`);
  }
}

await compare(1);
await compare(100);
startInNode();
await startInWorkerd();
sizes();
