/**
 * @file Each operation of the store as one round trip.
 *
 * @import { Tally, Window } from '../contract.js'
 */

import { inOrder } from '../store/entries.js';
import { adds, checkCount, checkGet, checkSwap } from '../store/rules.js';
import { isUnknownScript, judge } from './errors.js';
import { Link } from './link.js';
import * as scripts from './scripts.js';

/**
 * A store on Redis, for a fleet. Wrap it into a `WatchedStore`, so that it cannot slow calls down.
 *
 * It needs one Redis (or Valkey, or a proxy that looks like one) from version 6 on that takes
 * writes. Redis Cluster is not supported.
 */
export class RedisStore {
  #link;

  /**
   * Returns before there is a connection. One is made in the background, and made again whenever it
   * is lost, until the store is closed.
   *
   * @param {string} url `redis://user:password@host:6379/0`
   * @param {object} [options]
   * @param {(error: Error) => void} [options.onError] Is told why there is no connection.
   */
  constructor(url, { onError = () => {} } = {}) {
    this.#link = new Link(url, onError);
  }

  /**
   * A store whose first attempt to connect has ended. A server that is down is no error: the store
   * connects when it is there.
   *
   * @param {string} url
   * @param {{ onError?: (error: Error) => void }} [options]
   * @returns {Promise<RedisStore>}
   */
  static async connect(url, options) {
    const store = new RedisStore(url, options);
    await store.#link.tried();
    return store;
  }

  /** Where the server is, without the credentials. */
  get address() {
    return this.#link.address;
  }

  /** Whether there is a connection at this moment. */
  get isUp() {
    return this.#link.isUp;
  }

  /** The fleet's clock: that of the server, in ms since the Unix epoch. */
  nowMs() {
    return this.#link.clock.nowMs();
  }

  /** Closes the connection for good. */
  close() {
    this.#link.close();
  }

  /**
   * One `GET` a key in one round trip, rather than one `MGET`: that takes a counter for an absent
   * value, and the contract has it refused.
   *
   * @param {string[]} keys
   * @returns {Promise<Array<Uint8Array | undefined>>}
   */
  async get(keys) {
    checkGet(keys);
    return this.#telling(`get ${JSON.stringify(keys)}`, async () => {
      const values = await Promise.all(keys.map((key) => this.#link.send(['GET', key])));
      return values.map((value) => value ?? undefined);
    });
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
    const call = (/** @type {'hash' | 'code'} */ by) =>
      this.#link.send(scripts.swap(by, key, expected, replacement, ttlMs));
    return this.#telling(`swap ${JSON.stringify(key)}`, async () => {
      const swapped = await call('hash').catch((error) => {
        if (isUnknownScript(error)) {
          return call('code');
        }
        throw error;
      });
      return swapped === '1';
    });
  }

  /**
   * @param {Window[]} windows
   * @returns {Promise<Tally[]>}
   */
  async count(windows) {
    checkCount(windows);
    const keys = JSON.stringify(windows.map((window) => window.key));
    return this.#telling(`count ${keys}`, async () => (await this.#count(windows)).map(tally));
  }

  /** Asks for a sign of life, cheaply. */
  async ping() {
    await this.#telling('ping', () => this.#link.send(['PING']));
  }

  /**
   * The answers to a call of the script for each window, in one round trip; in two where the server
   * did not know the script.
   *
   * @param {Window[]} windows
   * @returns {Promise<any[][]>}
   */
  async #count(windows) {
    const calls = windows.map((window) => this.#link.send(scripts.count('hash', window)));
    const answers = await Promise.allSettled(calls);
    const isUnknown = answers.map((a) => a.status === 'rejected' && isUnknownScript(a.reason));
    const first = isUnknown.indexOf(true);
    if (first < 0) {
      return Promise.all(calls);
    }
    // Another host may have brought the script between two of these calls. Windows that only read
    // are then read again, so that none misses an add to the same key that comes before it.
    return Promise.all(
      windows.map((window, i) =>
        isUnknown[i] || (i > first && !adds(window))
          ? this.#link.send(scripts.count('code', window))
          : calls[i],
      ),
    );
  }

  /**
   * @template T
   * @param {string} what Is tried: in an error's text.
   * @param {() => Promise<T>} operation
   * @returns {Promise<T>}
   */
  async #telling(what, operation) {
    try {
      return await operation();
    } catch (error) {
      throw judge(error, what, this.address);
    }
  }
}

/**
 * An answer to the script that counts: the epoch, and then lanes and their sums in no order.
 *
 * @param {any[]} answer
 * @returns {Tally}
 */
function tally([epoch, ...items]) {
  const lanes = [];
  for (let i = 0; i + 1 < items.length; i += 2) {
    lanes.push({ name: String(items[i]), amount: BigInt(String(items[i + 1])) });
  }
  return { epoch: BigInt(String(epoch)), lanes: inOrder(lanes) };
}
