/**
 * @file The store during a scenario: it can go away, forget, and is counted.
 *
 * @import { Store, Window } from '../src/contract.js'
 */

import { unavailable } from '../src/store/errors.js';

/**
 * How long every key lives, in ms, whatever the policy asks for. Real time means nothing in a
 * scenario: a key must not vanish because the machine was slow.
 */
const LIFETIME_MS = 600_000n;

/** @implements {Store} */
export class Stage {
  #inner;
  #isUp = true;
  #operations = 0;
  /** @type {Map<string, number>} How often each counter was lost. */
  #lost = new Map();

  /** @param {Store} inner */
  constructor(inner) {
    this.#inner = inner;
  }

  /** Begins a new scenario. What is stored stays. */
  reset() {
    this.#isUp = true;
    this.#operations = 0;
    this.#lost.clear();
  }

  /** @param {boolean} up */
  setUp(up) {
    this.#isUp = up;
  }

  /** @param {string} key */
  loseCounter(key) {
    this.#lost.set(key, (this.#lost.get(key) ?? 0) + 1);
  }

  /** How many operations the policy has asked for since this was last asked. */
  takeOperations() {
    const operations = this.#operations;
    this.#operations = 0;
    return operations;
  }

  nowMs() {
    return this.#inner.nowMs();
  }

  /** @param {string[]} keys */
  get(keys) {
    this.#enter();
    return this.#inner.get(keys);
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   */
  swap(key, expected, replacement, ttlMs) {
    this.#enter();
    return this.#inner.swap(key, expected, replacement, lifetime(ttlMs));
  }

  /** @param {Window[]} windows */
  count(windows) {
    this.#enter();
    return this.#inner.count(
      windows.map((window) => {
        const times = this.#lost.get(window.key);
        const key = times ? `${window.key}~${times}` : window.key;
        return { ...window, key, ttlMs: lifetime(window.ttlMs) };
      }),
    );
  }

  #enter() {
    this.#operations += 1;
    if (!this.#isUp) {
      throw unavailable('the scenario says so');
    }
  }
}

/** @param {bigint} ttlMs */
function lifetime(ttlMs) {
  return ttlMs > 0 ? LIFETIME_MS : 0n;
}
