/**
 * @file What every store refuses before it does anything: `wit/keyvalue.wit`, "Keys and values".
 * The one place for it: each store calls these first.
 *
 * @import { Window } from '../contract.js'
 */

import { refused } from './errors.js';

/** The longest key, in bytes of UTF-8. */
export const KEY_MAX_BYTES = 512;
/** The longest value, in bytes. */
export const VALUE_MAX_BYTES = 64 * 1024;
/** The largest amount that a lane can hold: what a double holds exactly. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

const LANE = /^[a-z0-9-]{1,16}$/;
const utf8 = new TextEncoder();

/**
 * @param {string} key
 * @throws {import('./errors.js').StoreError}
 */
export function checkKey(key) {
  // A character takes at most three bytes for each of its units.
  const bytes = key.length * 3 <= KEY_MAX_BYTES ? key.length : utf8.encode(key).length;
  if (bytes === 0 || bytes > KEY_MAX_BYTES) {
    throw refused(`the key has ${bytes} bytes, and may have 1 to ${KEY_MAX_BYTES}`);
  }
}

/**
 * @param {string[]} keys
 * @throws {import('./errors.js').StoreError}
 */
export function checkGet(keys) {
  keys.forEach(checkKey);
}

/**
 * @param {string} key
 * @param {Uint8Array | undefined} replacement
 * @throws {import('./errors.js').StoreError}
 */
export function checkSwap(key, replacement) {
  checkKey(key);
  if (replacement && replacement.length > VALUE_MAX_BYTES) {
    throw refused(`the value has ${replacement.length} bytes, and may have ${VALUE_MAX_BYTES}`);
  }
}

/**
 * @param {Window[]} windows
 * @throws {import('./errors.js').StoreError}
 */
export function checkCount(windows) {
  for (const window of windows) {
    checkKey(window.key);
    for (const { name } of window.add) {
      if (!LANE.test(name)) {
        const right = '1 to 16 of a-z, - and digits';
        throw refused(`${JSON.stringify(name)} cannot be the name of a lane: ${right}`);
      }
    }
    if (BigInt(window.ttlMs) === 0n && adds(window)) {
      throw refused(`to add to ${JSON.stringify(window.key)} needs a ttl-ms above zero`);
    }
  }
}

/**
 * Whether an operation adds something; otherwise it only reads.
 *
 * @param {Window} window
 * @returns {boolean}
 */
export function adds(window) {
  return window.add.some((lane) => lane.amount > 0);
}
