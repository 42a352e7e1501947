/**
 * @file A time limit, and a breaker of its own, around any store: a store never decides by being
 * slow.
 *
 * Each operation has one short limit. The first that exceeds it, or finds the store out of reach,
 * takes the store out of use: from then on operations are answered `unavailable` at once, without
 * asking. From time to time one of them has the store pinged, without waiting for it, and the store
 * is in use again when it has answered a ping within the limit. Nothing else brings it back: an
 * answer that comes late tells that the store was alive, not that it is. What a store refuses is an
 * answer and says nothing against it.
 *
 * @import { Reply, Store, Tally, Window } from '../contract.js'
 */

import { asStoreError, unavailable } from './errors.js';
import { isLater, within } from './within.js';

/** How long after the store went out of use it is first pinged. Soon: most failures are short. */
const PING_FIRST_MS = 20;
/** The pause before the second ping, and what it doubles up to. */
const PING_PAUSE_MS = 100;
const PING_PAUSE_MAX_MS = 500;
/**
 * A store that fails again this soon after it came back is pinged as if it had not been: one that
 * answers pings and nothing else would change mode fifty times a second.
 */
const SETTLED_MS = 5_000;

/**
 * Whether a store is in use: `shared`, the fleet decides together; `down`, each host decides by
 * itself.
 *
 * @typedef {'shared' | 'down'} Mode
 */

/** A store within a time limit. */
export class WatchedStore {
  #inner;
  #limitMs;
  #onChange;
  /** @type {string | undefined} Why the store is out of use; none while it is in use. */
  #down;
  /** How often the mode changed. */
  #changes = 0;
  /** When the next ping is due, on `performance.now()`. */
  #pingAt = 0;
  #pause = PING_FIRST_MS;
  #backAt = -Infinity;
  #pinging = false;

  /**
   * @param {Store & { ping: () => Reply<void> }} inner
   * @param {object} [options]
   * @param {number} [options.limitMs] How long one operation may take.
   * @param {(mode: Mode, why: string) => void} [options.onChange] Is told of each change of mode.
   */
  constructor(inner, { limitMs = 50, onChange = () => {} } = {}) {
    this.#inner = inner;
    this.#limitMs = limitMs;
    this.#onChange = onChange;
  }

  /** Whether the store is in use. @type {Mode} */
  get mode() {
    return this.#down === undefined ? 'shared' : 'down';
  }

  /** The inner store's clock. */
  nowMs() {
    return this.#inner.nowMs();
  }

  /** @param {string[]} keys */
  get(keys) {
    return this.#perform(() => this.#inner.get(keys));
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   */
  swap(key, expected, replacement, ttlMs) {
    return this.#perform(() => this.#inner.swap(key, expected, replacement, ttlMs));
  }

  /** @param {Window[]} windows */
  count(windows) {
    return this.#perform(() => this.#inner.count(windows));
  }

  /**
   * @template T
   * @param {() => Reply<T>} operation
   * @returns {Reply<T>}
   */
  #perform(operation) {
    if (this.#down !== undefined) {
      this.#pingWhenDue();
      throw unavailable(`out of use until it answers a ping (${this.#down})`);
    }
    const changes = this.#changes;
    const failed = (/** @type {unknown} */ thrown) => {
      const error = asStoreError(thrown);
      this.#judge(error, changes);
      throw error;
    };
    try {
      const reply = operation();
      return isLater(reply) ? within(this.#limitMs, reply).catch(failed) : reply;
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /**
   * Takes the store out of use where this error says so. An operation that began before the last
   * change of mode belongs to an outage that is over, or is known already.
   *
   * @param {import('./errors.js').StoreError} error
   * @param {number} changes How many there had been when the operation began.
   */
  #judge(error, changes) {
    if (error.kind !== 'unavailable' || this.#down !== undefined || this.#changes !== changes) {
      return;
    }
    const now = performance.now();
    if (now - this.#backAt >= SETTLED_MS) {
      this.#pause = PING_FIRST_MS;
    }
    this.#pingAt = now + this.#pause;
    this.#change(error.message, 'down', error.message);
  }

  #pingWhenDue() {
    if (this.#pinging || performance.now() < this.#pingAt) {
      return;
    }
    this.#pinging = true;
    this.#pause = Math.min(Math.max(this.#pause * 2, PING_PAUSE_MS), PING_PAUSE_MAX_MS);
    // A promise even where the ping fails at once.
    const ping = Promise.resolve().then(() => this.#inner.ping());
    within(this.#limitMs, ping).then(
      () => {
        this.#pinging = false;
        this.#backAt = performance.now();
        this.#change(undefined, 'shared', 'it answered a ping');
      },
      () => {
        this.#pinging = false;
        this.#pingAt = performance.now() + this.#pause;
      },
    );
  }

  /**
   * @param {string | undefined} down
   * @param {Mode} mode
   * @param {string} why
   */
  #change(down, mode, why) {
    this.#down = down;
    this.#changes += 1;
    try {
      this.#onChange(mode, why);
    } catch (error) {
      console.error('fusewire: onChange failed:', error);
    }
  }
}
