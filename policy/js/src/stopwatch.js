/**
 * @file How long a call has been under way, as far as the other side was waited for, and a word when
 * that becomes too long.
 */

import { TIMER_MAX_MS } from './clock.js';

export class Stopwatch {
  /** What has passed in the stretches that are over, in ms. */
  #passedMs = 0;
  /** When the stretch under way began, on `performance.now()`; none: it is paused. */
  #since = /** @type {number | undefined} */ (undefined);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #limitMs;
  #onLimit;

  /**
   * One that runs.
   *
   * @param {number} [limitMs]
   * @param {() => void} [onLimit] Is called once, when so much has passed and it was not stopped.
   */
  constructor(limitMs = Infinity, onLimit = () => {}) {
    this.#limitMs = limitMs;
    this.#onLimit = onLimit;
    this.run();
  }

  /** What has passed, in ms. */
  get ms() {
    const stretch = this.#since === undefined ? 0 : performance.now() - this.#since;
    return this.#passedMs + stretch;
  }

  run() {
    if (this.#since !== undefined) {
      return;
    }
    this.#since = performance.now();
    const leftMs = Math.max(0, this.#limitMs - this.#passedMs);
    if (leftMs <= TIMER_MAX_MS) {
      this.#timer = setTimeout(() => {
        this.#limitMs = Infinity;
        this.#onLimit();
      }, leftMs);
      // What may become too slow is no reason for a process to go on.
      /** @type {any} */ (this.#timer).unref?.();
    }
  }

  pause() {
    this.#passedMs = this.ms;
    this.#since = undefined;
    clearTimeout(this.#timer);
  }

  /** Pauses, and gives no word any more. */
  stop() {
    this.pause();
    this.#limitMs = Infinity;
  }
}
