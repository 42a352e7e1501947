/**
 * @file Fresh random bits for the policy's contexts.
 */

/** Asking for many at once costs little more than for one. */
const pool = new BigUint64Array(128);
let used = pool.length;

/**
 * 64 random bits.
 *
 * @returns {bigint}
 */
export function entropy() {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const bits = pool[used];
  used += 1;
  return bits;
}
