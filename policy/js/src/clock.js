/**
 * @file This process's clock.
 */

/**
 * The present time in ms since the Unix epoch: the wall clock as it was when the process began, and
 * monotonic time from there on, so that setting the wall clock moves nothing.
 *
 * @returns {number}
 */
export function monotonicNowMs() {
  return Math.floor(performance.timeOrigin + performance.now());
}
