/**
 * @file Which of Redis's errors mean "out of reach", and which "will not be done".
 *
 * States that pass by themselves (loading, a fail-over, a script that runs too long) are out of
 * reach, as a lost connection is. Everything else that a server says is an answer: the operation is
 * refused and nothing was changed.
 */

import { ErrorReply } from 'redis';

import { StoreError, refused, unavailable } from '../store/errors.js';

const PASSES =
  /^(LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|READONLY/;

/**
 * What an error means for `what` that was tried at `address`.
 *
 * @param {unknown} error
 * @param {string} what
 * @param {string} address
 * @returns {StoreError}
 */
export function judge(error, what, address) {
  const said = error instanceof Error ? error.message : String(error);
  const text = `${what} at ${address}: ${said}`;
  return error instanceof ErrorReply && !PASSES.test(said) ? refused(text) : unavailable(text);
}

/**
 * Whether a server did nothing because it does not know a script.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isUnknownScript(error) {
  return error instanceof ErrorReply && error.message.startsWith('NOSCRIPT');
}

/**
 * Whether a server says that it is one that takes no writes: after a fail-over, the old primary.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isReadOnly(error) {
  return error instanceof ErrorReply && error.message.includes('READONLY');
}
