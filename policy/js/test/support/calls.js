/**
 * @file Short ways to make calls, and to note what is told of them.
 *
 * @import { Notice } from '../../src/guard.js'
 */

import { Guard } from 'fusewire';

/**
 * An observation of an answer with this status, or of this failure.
 *
 * @param {number | import('fusewire').TransportFailure} what
 * @returns {import('fusewire').Observation}
 */
export function seen(what) {
  const answered = typeof what === 'number';
  return {
    response: answered ? { status: what, headers: [], trailers: [] } : undefined,
    failure: answered ? undefined : what,
    latencyMs: 3n,
    nowMs: BigInt(Date.now()),
    idempotent: true,
    deliveredPartial: false,
    expect: 'any',
  };
}

/**
 * A guard that notes what it tells.
 *
 * @param {ConstructorParameters<typeof Guard>[0]} options
 */
export function noting(options) {
  /** @type {Notice[]} */
  const notices = [];
  const guard = new Guard({ ...options, onEvent: (notice) => notices.push(notice) });
  return { guard, notices };
}

/**
 * Makes a call that ends so.
 *
 * @param {Guard} guard
 * @param {import('fusewire').Target} target
 * @param {number | import('fusewire').TransportFailure} what
 */
export async function call(guard, target, what) {
  const admitted = await guard.admit(target);
  await admitted.settle(guard.classify(target, seen(what)));
}

/**
 * What the notices of one type say, in short.
 *
 * @param {Notice[]} notices
 * @returns {string[]}
 */
export function inShort(notices) {
  return notices.map((notice) => {
    switch (notice.type) {
      case 'event':
        return `event: ${notice.event.detail}`;
      case 'refused':
        return `refused: ${notice.refusal.reason}`;
      case 'judged':
        return `judged: ${notice.verdict.rule}`;
      case 'store':
        return `store: ${notice.error.kind}`;
      default:
        return `fault: ${notice.during}: ${notice.fault.message}`;
    }
  });
}
