/**
 * @file The Durable Object that keeps one provider's keys.
 *
 * An object has one thread and its storage to itself, and no operation here waits in its midst, so
 * each is atomic. What was answered has been written to the object's storage: an object that is
 * evicted, or whose machine fails, comes back with all that was answered. Its class has to be one
 * with SQLite storage.
 *
 * @import { Tally, Window } from '../contract.js'
 * @import { Entry } from '../store/entries.js'
 */

import { DurableObject } from 'cloudflare:workers';

import * as entries from '../store/entries.js';
import { StoreError } from '../store/errors.js';
import { checkCount, checkGet, checkSwap } from '../store/rules.js';

/**
 * An answer on its way through a remote call, which keeps no more of an error than its text.
 *
 * @template T
 * @typedef {{ answer: T } | { refused: string }} Answered
 */

/** Keeps the keys of one provider. Bind its namespace, and give it to a `DurableObjectStore`. */
export class FusewireStore extends DurableObject {
  #storage;
  #entries;
  /** Whether a sweep is to come. */
  #isArmed = false;

  /**
   * @param {any} context
   * @param {any} env
   */
  constructor(context, env) {
    super(context, env);
    this.#storage = context.storage;
    this.#entries = {
      get: (/** @type {string} */ key) => context.storage.kv.get(key),
      set: (/** @type {string} */ key, /** @type {Entry} */ entry) => {
        context.storage.kv.put(key, entry);
        this.#arm(entry.expires);
      },
      delete: (/** @type {string} */ key) => context.storage.kv.delete(key),
    };
    context.blockConcurrencyWhile(async () => {
      this.#isArmed = (await context.storage.getAlarm()) !== null;
    });
  }

  /**
   * @param {string[]} keys
   * @returns {Answered<Array<Uint8Array | undefined>>}
   */
  get(keys) {
    return answered(() => {
      checkGet(keys);
      const now = Date.now();
      return keys.map((key) => entries.read(this.#entries, key, now));
    });
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   * @returns {Answered<boolean>}
   */
  swap(key, expected, replacement, ttlMs) {
    return answered(() => {
      checkSwap(key, replacement);
      return entries.swap(this.#entries, key, expected, replacement, ttlMs, Date.now());
    });
  }

  /**
   * @param {Window[]} windows
   * @returns {Answered<Tally[]>}
   */
  count(windows) {
    return answered(() => {
      checkCount(windows);
      const now = Date.now();
      return windows.map((window) => entries.count(this.#entries, window, now));
    });
  }

  /** Gives back the storage of entries whose lifetime is over, and of the object with the last. */
  async alarm() {
    this.#isArmed = false;
    const now = Date.now();
    let left = 0;
    let latest = 0;
    for (const [key, entry] of [...this.#storage.kv.list()]) {
      if (entries.isOver(entry, now)) {
        this.#storage.kv.delete(key);
      } else {
        left += 1;
        latest = Number.isFinite(entry.expires) ? Math.max(latest, entry.expires) : latest;
      }
    }
    if (left === 0) {
      await this.#storage.deleteAll();
    } else if (latest > 0) {
      this.#arm(latest);
    }
  }

  /**
   * Sees to it that a sweep is to come. One at a time: an entry is swept within two lifetimes.
   *
   * @param {number} at
   */
  #arm(at) {
    if (!this.#isArmed && Number.isFinite(at)) {
      this.#isArmed = true;
      this.#storage.setAlarm(at);
    }
  }
}

/**
 * @template T
 * @param {() => T} operation
 * @returns {Answered<T>}
 */
function answered(operation) {
  try {
    return { answer: operation() };
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'refused') {
      return { refused: error.message };
    }
    throw error;
  }
}
