/**
 * @file The store as one call sees it.
 *
 * A tape keeps every answer the call was given. When the call is made again the answers are played
 * from the beginning, and none of the operations is performed twice; the first operation past the
 * end is started. Where it answers later, the tape holds its promise, and the policy is told
 * `pending`.
 *
 * @import { Store } from './contract.js'
 * @import { StoreError } from './store/errors.js'
 */

import { Fault } from './fault.js';
import { asStoreError, refused } from './store/errors.js';
import { isLater, within } from './store/within.js';

/**
 * The most store operations of one call. The deepest path of the policy here has a dozen; more is a
 * policy that goes in circles.
 */
export const OPERATIONS_MAX = 64;

/**
 * @typedef {'get' | 'swap' | 'count'} Kind
 * @typedef {{ kind: Kind, value?: any, error?: StoreError }} Recorded
 */

/** What the policy is told of an operation that was not answered: jco throws it inside. */
const PENDING = Object.freeze({ payload: Object.freeze({ tag: 'pending' }) });
const UNAVAILABLE = Object.freeze({ payload: Object.freeze({ tag: 'unavailable' }) });

/** The store as one call sees it. */
export class Tape {
  #store;
  #prefix;
  #onError;
  /** @type {Recorded[]} */
  #answers = [];
  /** The next answer to be played. */
  #at = 0;
  /** @type {{ kind: Kind, reply: PromiseLike<unknown> } | undefined} */
  #awaited;
  /** @type {Fault | undefined} */
  #fault;

  /**
   * A tape for one call, which may touch keys that begin with `prefix` and a colon.
   *
   * @param {Store} store
   * @param {string} prefix
   * @param {(error: StoreError) => void} [onError] Is told why an operation was not answered, which
   *   the policy is not.
   */
  constructor(store, prefix, onError = () => {}) {
    this.#store = store;
    this.#onError = onError;
    this.#prefix = `${prefix}:`;
  }

  /** Whether an operation is awaited. */
  get isWaiting() {
    return this.#awaited !== undefined;
  }

  /** What the policy did wrong with its store during the last run, where it did. */
  takeFault() {
    const fault = this.#fault;
    this.#fault = undefined;
    return fault;
  }

  /**
   * Plays, starts or refuses one operation: what an import of the component comes to.
   *
   * @template T
   * @param {Kind} kind
   * @param {string[]} keys Those that it touches.
   * @param {(store: Store) => import('./contract.js').Reply<T>} start
   * @returns {T}
   */
  operate(kind, keys, start) {
    if (this.#awaited) {
      // After `pending` a policy returns; one that goes on is told the same again.
      throw PENDING;
    }
    const recorded = this.#answers[this.#at];
    if (recorded) {
      this.#at += 1;
      if (recorded.kind !== kind) {
        const why = 'called again with the same arguments, it asked the store something else';
        this.#fault = new Fault('contract', why);
        throw UNAVAILABLE;
      }
      return told(recorded);
    }
    if (this.#answers.length >= OPERATIONS_MAX) {
      const why = `one call made more than ${OPERATIONS_MAX} store operations`;
      this.#fault = new Fault('contract', why);
      throw UNAVAILABLE;
    }
    return told(this.#start(kind, keys, start));
  }

  /**
   * @template T
   * @param {Kind} kind
   * @param {string[]} keys
   * @param {(store: Store) => import('./contract.js').Reply<T>} start
   * @returns {Recorded}
   */
  #start(kind, keys, start) {
    /** @type {Recorded} */
    let answer;
    try {
      this.#confine(keys);
      const reply = start(this.#store);
      if (isLater(reply)) {
        this.#awaited = { kind, reply };
        throw PENDING;
      }
      answer = { kind, value: reply };
    } catch (thrown) {
      if (thrown === PENDING) {
        throw PENDING;
      }
      answer = this.#failed(kind, thrown);
    }
    this.#answers.push(answer);
    this.#at = this.#answers.length;
    return answer;
  }

  /**
   * @param {Kind} kind
   * @param {unknown} thrown
   * @returns {Recorded}
   */
  #failed(kind, thrown) {
    const error = asStoreError(thrown);
    this.#onError(error);
    return { kind, error };
  }

  /** @param {string[]} keys */
  #confine(keys) {
    const stray = keys.find((key) => !key.startsWith(this.#prefix));
    if (stray !== undefined) {
      const [key, prefix] = [JSON.stringify(stray), JSON.stringify(this.#prefix)];
      throw refused(`the key ${key} does not begin with ${prefix}`);
    }
  }

  /**
   * Waits for the operation that is awaited, at the longest for `ms`, and rewinds the tape. An
   * operation that does not answer in time is out of reach.
   *
   * @param {number} ms
   * @returns {Promise<void>}
   */
  async wait(ms) {
    const awaited = this.#awaited;
    if (!awaited) {
      return;
    }
    const { kind, reply } = awaited;
    const answer = await within(ms, reply).then(
      (value) => ({ kind, value }),
      (thrown) => this.#failed(kind, thrown),
    );
    this.#awaited = undefined;
    this.#answers.push(answer);
    this.#at = 0;
  }
}

/**
 * @param {Recorded} recorded
 * @returns {any}
 */
function told({ value, error }) {
  if (!error) {
    return value;
  }
  throw error.kind === 'refused'
    ? { payload: { tag: 'refused', val: error.message } }
    : UNAVAILABLE;
}
