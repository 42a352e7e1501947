/**
 * @file Why a store did not do its part.
 */

/** An operation of a store that was not answered. */
export class StoreError extends Error {
  /**
   * @param {'unavailable' | 'refused'} kind `unavailable`: out of reach, or too slow; whether the
   *   operation took effect is not known. `refused`: it will not be done, and nothing was changed.
   * @param {string} why For the operator.
   */
  constructor(kind, why) {
    super(why);
    this.name = 'StoreError';
    /** What that means for the operation. */
    this.kind = kind;
  }
}

/**
 * Out of reach, or too slow.
 *
 * @param {string} why
 * @returns {StoreError}
 */
export function unavailable(why) {
  return new StoreError('unavailable', why);
}

/**
 * Will not be done.
 *
 * @param {string} why
 * @returns {StoreError}
 */
export function refused(why) {
  return new StoreError('refused', why);
}

/**
 * Whatever was thrown, as an error of a store.
 *
 * @param {unknown} thrown
 * @returns {StoreError}
 */
export function asStoreError(thrown) {
  if (thrown instanceof StoreError) {
    return thrown;
  }
  return unavailable(thrown instanceof Error ? thrown.message : String(thrown));
}
