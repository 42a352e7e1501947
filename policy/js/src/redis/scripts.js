/**
 * @file Calls of the Lua scripts. The scripts are those of the Rust host (`scripts.rs` there has
 * their contracts), so that workers of every kind can share one Redis.
 *
 * They are called by their hash. A server that does not know a script says so without having done
 * anything, and is sent the script itself, once.
 *
 * @import { Window } from '../contract.js'
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { AMOUNT_MAX } from '../store/rules.js';

/** The longest lifetime that is asked of Redis, in ms: some 285 000 years. */
const TTL_MAX_MS = BigInt(Number.MAX_SAFE_INTEGER);

/** @typedef {{ code: string, hash: string }} Script */
/** @typedef {Array<string | Buffer>} Command */

/** @param {string} name */
function script(name) {
  const code = readFileSync(new URL(`../../dist/redis/${name}`, import.meta.url), 'utf8');
  return { code, hash: createHash('sha1').update(code).digest('hex') };
}

const SWAP = script('swap.lua');
const COUNT = script('count.lua');

/**
 * A call of the script that replaces a value, by its hash or by its code.
 *
 * @param {'hash' | 'code'} by
 * @param {string} key
 * @param {Uint8Array | undefined} expected
 * @param {Uint8Array | undefined} replacement
 * @param {bigint} ttlMs
 * @returns {Command}
 */
export function swap(by, key, expected, replacement, ttlMs) {
  const values = [expected, replacement].flatMap((value) => [
    value ? '1' : '0',
    value ? bytes(value) : '',
  ]);
  return [...begin(SWAP, by, key), ...values, String(ttl(ttlMs))];
}

/**
 * A call of the script that adds to a windowed counter and reads it.
 *
 * @param {'hash' | 'code'} by
 * @param {Window} window
 * @returns {Command}
 */
export function count(by, { key, epoch, bucket, since, ttlMs, add }) {
  const command = begin(COUNT, by, key);
  command.push(String(epoch), String(bucket), String(since), String(ttl(ttlMs)));
  for (const { name, amount } of add) {
    if (amount > 0) {
      command.push(name, String(amount < AMOUNT_MAX ? amount : AMOUNT_MAX));
    }
  }
  return command;
}

/**
 * @param {Script} of
 * @param {'hash' | 'code'} by
 * @param {string} key
 * @returns {Command}
 */
function begin({ code, hash }, by, key) {
  return by === 'hash' ? ['EVALSHA', hash, '1', key] : ['EVAL', code, '1', key];
}

/** @param {bigint} ms */
function ttl(ms) {
  return ms < TTL_MAX_MS ? ms : TTL_MAX_MS;
}

/** @param {Uint8Array} value */
function bytes(value) {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
