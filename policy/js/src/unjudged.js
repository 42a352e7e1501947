/**
 * @file What stands in where there is no policy to ask: it counts nowhere.
 *
 * @import { Observation, Verdict } from './contract.js'
 */

/**
 * The verdict where the policy failed to give one. An answer is taken as it is, and a failure goes
 * to the next provider.
 *
 * @param {Observation} observation
 * @returns {Verdict}
 */
export function withoutPolicy(observation) {
  const answered = observation.response !== undefined && observation.failure === undefined;
  return {
    outcome: answered ? 'success' : 'transient',
    effect: 'neutral',
    blame: 'nobody',
    retrySame: false,
    nextProvider: !answered,
    minDelayMs: 0n,
    retryAfterMs: undefined,
    slow: false,
    rule: 'no-policy',
    reason: 'the policy failed, so the attempt was not judged',
  };
}
