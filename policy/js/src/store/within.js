/**
 * @file A time limit for a store's answer.
 */

import { unavailable } from './errors.js';

/** @type {(then: () => void) => void} */
const afterReading = globalThis.setImmediate ?? ((then) => setTimeout(then, 0));

/**
 * The answer, or that the store is out of reach where it does not come in time. The operation that
 * is given up may take effect all the same.
 *
 * @template T
 * @param {number} ms
 * @param {PromiseLike<T>} reply
 * @returns {Promise<T>}
 */
export function within(ms, reply) {
  return new Promise((resolve, reject) => {
    const overdue = () => reject(unavailable('it did not answer in time'));
    // What has arrived while this thread was busy is read first: the limit is the store's.
    const timer = setTimeout(() => afterReading(overdue), ms);
    reply.then(
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
      (thrown) => {
        clearTimeout(timer);
        reject(thrown);
      },
    );
  });
}

/**
 * Whether a reply is still to come.
 *
 * @param {unknown} reply
 * @returns {reply is PromiseLike<any>}
 */
export function isLater(reply) {
  return typeof (/** @type {any} */ (reply)?.then) === 'function';
}
