/**
 * @file Calls a policy again until its store has answered everything.
 *
 * @import { Export } from './exports.js'
 * @import { Policy } from './policy.js'
 */

import { Fault } from './fault.js';
import { SUSPENDED } from './policy.js';

/** How long one store operation is waited for, in ms, where nothing else is said. */
export const STORE_PATIENCE_MS = 50;

/**
 * How many times the patience with one operation all of a call may take. Operations follow one
 * another: a probe takes two, and an outcome that opens a breaker three for each domain. A store
 * that is slow but within its limit must not keep these from coming to their end.
 */
const PATIENCE_IN_ALL = 8;

/**
 * Makes one call of a policy on a store.
 *
 * Waits for the store, outside the policy: at the longest `patienceMs` for one operation, and eight
 * times that for all of the call. What has not answered by then is out of reach to the policy.
 *
 * @param {Policy} policy
 * @param {import('./tape.js').Tape} tape A fresh one.
 * @param {number} patienceMs
 * @param {Export} name
 * @param {any[]} args
 * @returns {any} The answer: at once where the store answers at once, otherwise a promise.
 * @throws {Fault | import('./policy.js').OverrideError}
 */
export function ask(policy, tape, patienceMs, name, args) {
  const answer = run(policy, tape, name, args);
  return answer === SUSPENDED ? askAgain(policy, tape, patienceMs, name, args) : answer;
}

/** @type {typeof ask} */
async function askAgain(policy, tape, patienceMs, name, args) {
  const ends = performance.now() + patienceMs * PATIENCE_IN_ALL;
  for (;;) {
    await tape.wait(Math.max(0, Math.min(patienceMs, ends - performance.now())));
    const answer = run(policy, tape, name, args);
    if (answer !== SUSPENDED) {
      return answer;
    }
  }
}

/**
 * @param {Policy} policy
 * @param {import('./tape.js').Tape} tape
 * @param {Export} name
 * @param {any[]} args
 */
function run(policy, tape, name, args) {
  const answer = policy.run(name, args, tape);
  const fault = tape.takeFault();
  if (fault) {
    throw fault;
  }
  if (answer === SUSPENDED && !tape.isWaiting) {
    throw new Fault('contract', 'it suspended a call though its store had answered');
  }
  return answer;
}
