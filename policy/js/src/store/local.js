/**
 * @file A store in front of any other that keeps in this process what is of interest to no other:
 * the keys of an instance's own breaker, which begin with the prefix and `:local:`.
 *
 * They are answered at once, also while the other store is out of reach, so an instance then has a
 * breaker of its own; and they never come into the other store, so what an instance has found out
 * alone is not written over what the fleet knows. See `wit/keyvalue.wit`, "Keys and values".
 *
 * @import { Reply, Store, Tally, Window } from '../contract.js'
 */

import { MemoryStore } from './memory.js';
import { checkCount, checkGet } from './rules.js';
import { isLater } from './within.js';

/** How many entries are kept. A domain has two, so this is enough for 10,000 domains. */
const ENTRIES_MAX = 20_000;

/** @implements {Store} */
export class LocalStore {
  #shared;
  #own;
  #prefix;

  /**
   * @param {Store} shared Where all other keys are.
   * @param {string} prefix What every key begins with, without the colon.
   */
  constructor(shared, prefix) {
    this.#shared = shared;
    this.#own = new MemoryStore(() => shared.nowMs(), { entriesMax: ENTRIES_MAX });
    this.#prefix = `${prefix}:local:`;
  }

  /** The other store's clock. */
  nowMs() {
    return this.#shared.nowMs();
  }

  /** @param {string[]} keys */
  get(keys) {
    return this.#spread(
      keys,
      (key) => key,
      checkGet,
      (store, part) => store.get(part),
    );
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   * @returns {Reply<boolean>}
   */
  swap(key, expected, replacement, ttlMs) {
    const store = this.#isOwn(key) ? this.#own : this.#shared;
    return store.swap(key, expected, replacement, ttlMs);
  }

  /**
   * @param {Window[]} windows
   * @returns {Reply<Tally[]>}
   */
  count(windows) {
    return this.#spread(
      windows,
      ({ key }) => key,
      checkCount,
      (store, part) => store.count(part),
    );
  }

  /** @param {string} key */
  #isOwn(key) {
    return key.startsWith(this.#prefix);
  }

  /**
   * Asks each store about its part, and puts the answers in order: the shared one first, and where it
   * fails nobody else.
   *
   * @template T, A
   * @param {T[]} all
   * @param {(one: T) => string} keyOf
   * @param {(all: T[]) => void} check
   * @param {(store: Store, part: T[]) => Reply<A[]>} ask
   * @returns {Reply<A[]>}
   */
  #spread(all, keyOf, check, ask) {
    const own = all.filter((one) => this.#isOwn(keyOf(one)));
    if (own.length === 0) {
      return ask(this.#shared, all);
    }
    if (own.length === all.length) {
      return ask(this.#own, all);
    }
    check(all);
    const shared = all.filter((one) => !this.#isOwn(keyOf(one)));
    const joined = (/** @type {A[]} */ fromShared) => {
      const fromOwn = /** @type {A[]} */ (ask(this.#own, own));
      const places = { shared: 0, own: 0 };
      return all.map((one) =>
        this.#isOwn(keyOf(one)) ? fromOwn[places.own++] : fromShared[places.shared++],
      );
    };
    const reply = ask(this.#shared, shared);
    return isLater(reply) ? reply.then(joined) : joined(/** @type {A[]} */ (reply));
  }
}
