/**
 * @file A map that holds so many entries and no more.
 */

/**
 * A map in the order of use: where another entry would be one too many, the one goes that was used
 * least recently.
 *
 * @template K, V
 * @extends {Map<K, V>}
 */
export class RecentMap extends Map {
  #most;

  /** @param {number} most */
  constructor(most) {
    super();
    this.#most = most;
  }

  /**
   * @param {K} key
   * @returns {V | undefined}
   */
  get(key) {
    const value = super.get(key);
    if (value !== undefined) {
      super.delete(key);
      super.set(key, value);
    }
    return value;
  }

  /**
   * @param {K} key
   * @param {V} value
   */
  set(key, value) {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.#most) {
      super.delete(/** @type {K} */ (this.keys().next().value));
    }
    return this;
  }
}
