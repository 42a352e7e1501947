/**
 * @file This process's clock and timers.
 */

/** The longest that a timer can be set to, in ms: one for longer would ring at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * The present time in ms since the Unix epoch: the wall clock as it was when the process began, and
 * monotonic time from there on, so that setting the wall clock moves nothing.
 *
 * @returns {number}
 */
export function monotonicNowMs() {
  return Math.floor(performance.timeOrigin + performance.now());
}
