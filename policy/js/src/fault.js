/**
 * @file What a policy did wrong.
 */

/** The policy failed. The call in which it did is let through. */
export class Fault extends Error {
  /**
   * @param {'trap' | 'contract'} kind `trap`: it trapped, and its instance is gone. `contract`: it
   *   did what a policy must not do.
   * @param {string} why
   * @param {unknown} [cause]
   */
  constructor(kind, why, cause) {
    const what = kind === 'trap' ? 'the policy trapped' : 'the policy broke its contract';
    super(`${what}: ${why}`, { cause });
    this.name = 'Fault';
    /** What it did. */
    this.kind = kind;
  }
}
