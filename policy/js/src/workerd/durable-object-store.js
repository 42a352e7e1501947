/**
 * @file A store on Durable Objects, for a fleet of workers.
 *
 * @import { Tally, Window } from '../contract.js'
 */

import { asStoreError, refused } from '../store/errors.js';
import { checkCount, checkGet, checkSwap } from '../store/rules.js';

/**
 * A store on Durable Objects: one object keeps all keys with the same hash tag, which are those of
 * one provider. The class is `FusewireStore`.
 *
 * The fleet's clock is that of the machine a worker runs on.
 */
export class DurableObjectStore {
  #namespace;

  /** @param {any} namespace The binding of the namespace. */
  constructor(namespace) {
    this.#namespace = namespace;
  }

  /** The present time, in ms since the Unix epoch. In workers it stands still between I/O. */
  nowMs() {
    return Date.now();
  }

  /**
   * @param {string[]} keys
   * @returns {Promise<Array<Uint8Array | undefined>>}
   */
  async get(keys) {
    checkGet(keys);
    return this.#spread(keys, hashTag, (object, part) => object.get(part));
  }

  /**
   * @param {string} key
   * @param {Uint8Array | undefined} expected
   * @param {Uint8Array | undefined} replacement
   * @param {bigint} ttlMs
   * @returns {Promise<boolean>}
   */
  async swap(key, expected, replacement, ttlMs) {
    checkSwap(key, replacement);
    const object = this.#object(hashTag(key));
    return opened(() => object.swap(key, expected, replacement, ttlMs));
  }

  /**
   * @param {Window[]} windows
   * @returns {Promise<Tally[]>}
   */
  async count(windows) {
    checkCount(windows);
    const tagOf = (/** @type {Window} */ { key }) => hashTag(key);
    return this.#spread(windows, tagOf, (object, part) => object.count(part));
  }

  /**
   * Asks the object of each tag about its part, all at once, and puts the answers in order.
   *
   * @template T
   * @param {T[]} all
   * @param {(one: T) => string} tagOf
   * @param {(object: any, part: T[]) => Promise<any>} ask
   * @returns {Promise<any[]>}
   */
  async #spread(all, tagOf, ask) {
    /** @type {Map<string, number[]>} */
    const places = new Map();
    all.forEach((one, place) => {
      const tag = tagOf(one);
      places.set(tag, [...(places.get(tag) ?? []), place]);
    });
    /** @type {any[]} */
    const answers = Array(all.length);
    await Promise.all(
      [...places].map(async ([tag, its]) => {
        const part = its.map((place) => all[place]);
        const came = await opened(() => ask(this.#object(tag), part));
        its.forEach((place, i) => {
          answers[place] = came[i];
        });
      }),
    );
    return answers;
  }

  /** @param {string} tag */
  #object(tag) {
    return this.#namespace.get(this.#namespace.idFromName(tag));
  }
}

/**
 * What is between the first pair of braces, as in Redis Cluster; otherwise the key itself.
 *
 * @param {string} key
 * @returns {string}
 */
function hashTag(key) {
  return /\{([^}]+)\}/.exec(key)?.[1] ?? key;
}

/**
 * @param {() => Promise<any>} operation
 * @returns {Promise<any>}
 */
async function opened(operation) {
  let came;
  try {
    came = await operation();
  } catch (error) {
    throw asStoreError(error);
  }
  if ('refused' in came) {
    throw refused(came.refused);
  }
  return came.answer;
}
