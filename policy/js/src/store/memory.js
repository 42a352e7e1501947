/**
 * @file A store inside one process, which answers at once.
 *
 * Nothing outlives the process, and no other process or worker thread sees it: the default for one
 * process, and what tests run on.
 *
 * @import { Tally, Window } from '../contract.js'
 * @import { Entry } from './entries.js'
 */

import { monotonicNowMs } from '../clock.js';
import * as entries from './entries.js';
import { RecentMap } from './recent.js';
import { checkCount, checkGet, checkSwap } from './rules.js';

/**
 * How many entries each write looks at for one that is gone. Two is the least with which the sweep
 * outruns writes that each make a new entry: what is gone never outweighs what lives.
 */
const SWEPT_BY_A_WRITE = 2;

/** A store inside one process. */
export class MemoryStore {
  /** @type {Map<string, Entry>} */
  #entries;
  /** @type {Iterator<[string, Entry]>} */
  #sweep;
  #nowMs;

  /**
   * @param {() => number} [nowMs] Its clock. By default the wall clock as it was at the start, and
   *   monotonic time from there on, so that setting the wall clock ends no lifetime.
   * @param {object} [options]
   * @param {number} [options.entriesMax] The most entries that are held; past it the one goes that
   *   was used least recently. A domain has two or three. By default there is no limit.
   */
  constructor(nowMs = monotonicNowMs, { entriesMax } = {}) {
    this.#nowMs = nowMs;
    this.#entries = entriesMax === undefined ? new Map() : new RecentMap(entriesMax);
    this.#sweep = this.#entries.entries();
  }

  /**
   * How many entries are held, those included whose lifetime is over but whose memory was not given
   * back yet.
   */
  get held() {
    return this.#entries.size;
  }

  /** The present time, in ms since the Unix epoch. */
  nowMs() {
    return this.#nowMs();
  }

  /**
   * @param {string[]} keys
   * @returns {Array<Uint8Array | undefined>}
   */
  get(keys) {
    checkGet(keys);
    const now = this.#nowMs();
    return keys.map((key) => entries.read(this.#entries, key, now)?.slice());
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   * @returns {boolean}
   */
  swap(key, expected, replacement, ttlMs) {
    checkSwap(key, replacement);
    const now = this.#nowMs();
    const swapped = entries.swap(this.#entries, key, expected, replacement, ttlMs, now);
    this.#giveBack(now);
    return swapped;
  }

  /**
   * @param {Window[]} windows
   * @returns {Tally[]}
   */
  count(windows) {
    checkCount(windows);
    const now = this.#nowMs();
    const tallies = windows.map((window) => entries.count(this.#entries, window, now));
    this.#giveBack(now);
    return tallies;
  }

  /**
   * Looks at the next few entries, and gives back the memory of those that are gone. As every write
   * does so each entry's turn comes, and no write takes longer for there being many.
   *
   * @param {number} now
   */
  #giveBack(now) {
    for (let looked = 0; looked < SWEPT_BY_A_WRITE; looked += 1) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#entries.entries();
        return;
      }
      const [key, entry] = next.value;
      if (entries.isOver(entry, now)) {
        this.#entries.delete(key);
      }
    }
  }
}
