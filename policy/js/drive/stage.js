/**
 * @file The store during a scenario: it can go away, forget, and is counted. What belongs to an
 * instance alone is kept here, as in a `Guard`, and stays when the store goes.
 *
 * @import { Store, Window } from '../src/contract.js'
 */

import { unavailable } from '../src/store/errors.js';
import { LocalStore } from '../src/store/local.js';

/**
 * How long every key lives, in ms, whatever the policy asks for. Real time means nothing in a
 * scenario: a key must not vanish because the machine was slow.
 */
const LIFETIME_MS = 600_000n;

/** @implements {Store} */
export class Stage {
  #inner;
  #keys;
  #isUp = true;
  #operations = 0;
  /** @type {Map<string, number>} How often each counter was lost. */
  #lost = new Map();

  /**
   * @param {Store} inner
   * @param {string} prefix What every key begins with.
   */
  constructor(inner, prefix) {
    this.#inner = inner;
    this.#keys = this.#keysWith(prefix);
  }

  /**
   * Begins a new scenario. What is stored stays, except for what belongs to an instance alone.
   *
   * @param {string} prefix What every key begins with.
   */
  reset(prefix) {
    this.#keys = this.#keysWith(prefix);
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
    this.#operations += 1;
    return this.#keys.get(keys);
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   */
  swap(key, expected, replacement, ttlMs) {
    this.#operations += 1;
    return this.#keys.swap(key, expected, replacement, lifetime(ttlMs));
  }

  /** @param {Window[]} windows */
  count(windows) {
    this.#operations += 1;
    return this.#keys.count(
      windows.map((window) => {
        const times = this.#lost.get(window.key);
        const key = times ? `${window.key}~${times}` : window.key;
        return { ...window, key, ttlMs: lifetime(window.ttlMs) };
      }),
    );
  }

  /** @param {string} prefix */
  #keysWith(prefix) {
    const reached = () => {
      if (!this.#isUp) {
        throw unavailable('the scenario says so');
      }
      return this.#inner;
    };
    /** @type {Store} */
    const shared = {
      nowMs: () => this.#inner.nowMs(),
      get: (keys) => reached().get(keys),
      swap: (...all) => reached().swap(...all),
      count: (windows) => reached().count(windows),
    };
    return new LocalStore(shared, prefix);
  }
}

/** @param {bigint} ttlMs */
function lifetime(ttlMs) {
  return ttlMs > 0 ? LIFETIME_MS : 0n;
}
