/**
 * @file The parts of a body as they come from the provider, some of which may have been fetched
 * before anybody reads.
 *
 * @import { Look } from './look.js'
 */

export class Source {
  #reader;
  #look;
  /** What was looked at and is still to be read. @type {Uint8Array[]} */
  #ahead = [];
  #hasEnded = false;

  /**
   * @param {ReadableStream<Uint8Array>} body
   * @param {Look} [look] Is shown each part.
   */
  constructor(body, look) {
    this.#reader = body.getReader();
    this.#look = look;
  }

  /** Whether all of the body has come, be it read or not. */
  get hasEnded() {
    return this.#hasEnded;
  }

  /**
   * Fetches as many parts as there is to look at. They are kept whole, so more is held than is
   * looked at by a part of a part.
   */
  async lookAhead() {
    while (this.#look && !this.#look.isEnough) {
      const part = await this.#fetch();
      if (!part) {
        return;
      }
      this.#ahead.push(part);
    }
  }

  /**
   * The next part that has anything in it. Nothing: the body has ended.
   *
   * @returns {Promise<Uint8Array | undefined>}
   */
  async next() {
    return this.#ahead.shift() ?? this.#fetch();
  }

  /** @param {unknown} reason */
  cancel(reason) {
    return this.#reader.cancel(reason);
  }

  /** @returns {Promise<Uint8Array | undefined>} */
  async #fetch() {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) {
        this.#hasEnded = true;
        return undefined;
      }
      if (value.length > 0) {
        this.#look?.take(value);
        return value;
      }
    }
  }
}
