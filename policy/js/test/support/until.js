/**
 * @file Waiting for an event, with a deadline.
 */

/**
 * Waits until something holds.
 *
 * @template T
 * @param {() => T | Promise<T>} holds
 * @param {string} what For the error.
 * @param {number} [deadlineMs]
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(holds, what, deadlineMs = 15_000) {
  const ends = performance.now() + deadlineMs;
  for (;;) {
    const seen = await holds();
    if (seen) {
      return seen;
    }
    if (performance.now() > ends) {
      throw new Error(`after ${deadlineMs} ms it is not so that ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
