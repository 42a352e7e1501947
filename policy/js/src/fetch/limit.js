/**
 * @file The total time limit of an attempt: as long as the provider may be waited for, from sending
 * the request to the end of the answer. Time in which the caller does not read does not count.
 */

import { TIMER_MAX_MS } from '../clock.js';

export class Limit {
  #controller = new AbortController();
  #leftMs;
  #ms;

  /** @param {number} [ms] None, or longer than any timer: no limit. */
  constructor(ms = Infinity) {
    this.#ms = ms;
    this.#leftMs = ms;
  }

  /** Aborted when the time is over. */
  get signal() {
    return this.#controller.signal;
  }

  /** Whether the time is over. */
  get isOver() {
    return this.#controller.signal.aborted;
  }

  /**
   * Lets the time run while something is waited for.
   *
   * @template T
   * @param {() => PromiseLike<T>} something Ends when the signal is aborted.
   * @returns {Promise<T>}
   */
  async during(something) {
    if (this.#ms > TIMER_MAX_MS) {
      return something();
    }
    const began = performance.now();
    const overrun = new DOMException(`no whole answer within ${this.#ms} ms`, 'TimeoutError');
    const timer = setTimeout(() => this.#controller.abort(overrun), this.#leftMs);
    try {
      return await something();
    } finally {
      clearTimeout(timer);
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - began));
    }
  }
}
