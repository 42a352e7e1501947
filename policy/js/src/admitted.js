/**
 * @file What an admission comes to: the right to make one call, or a refusal.
 *
 * @import { Ending, Limits, Permit, Refusal, Verdict } from './contract.js'
 * @import { CallFacts, Guard } from './guard.js'
 */

import { Stopwatch } from './stopwatch.js';

/** A call that the policy refused. */
export class RefusedError extends Error {
  /** @param {Refusal} refusal */
  constructor(refusal) {
    super(refusal.detail);
    this.name = 'RefusedError';
    /** Why: `open`, `probe-in-flight`, ... */
    this.reason = refusal.reason;
    /** The failure domain that refused. */
    this.domain = refusal.domain;
    /** When it is worth asking again, in ms from now; zero: never. */
    this.retryAfterMs = Number(refusal.retryAfterMs);
  }
}

/**
 * The right to make one call. Settle it with the verdict, or drop it; the first one counts.
 *
 * It measures how long the call takes, from its admission until it is settled, and tells the policy
 * where that is longer than it wants to wait for the end.
 */
export class Admitted {
  #guard;
  /** @type {Permit | undefined} None: the policy failed, or the call is settled. */
  #permit;
  #facts;
  #stopwatch;
  /** Whether the policy was told that the call is overdue. */
  #isOverdue = false;
  /** @type {Promise<void> | undefined} What goes on of telling it so. */
  #telling;

  /**
   * @param {Guard} guard
   * @param {Permit | undefined} permit
   * @param {Limits} limits What the policy wants of its time.
   * @param {CallFacts} [facts]
   */
  constructor(guard, permit, { totalMs, overdueMs }, facts) {
    this.#guard = guard;
    this.#permit = permit;
    this.#facts = facts;
    /** Whether this call is the fleet's probe: it gets no retries. */
    this.isProbe = permit?.probe ?? false;
    /**
     * The longest that the call may last by the policy's wish, in ms; none: it has no wish. A probe
     * may be given less than `limitMs`.
     */
    this.limitMs = totalMs === undefined ? undefined : Number(totalMs);
    this.#stopwatch =
      overdueMs === undefined
        ? new Stopwatch()
        : new Stopwatch(Number(overdueMs), () => this.#tellOverdue());
  }

  /** How long the call has taken so far, in ms. */
  get latencyMs() {
    return this.#stopwatch.ms;
  }

  /** From now on time does not count: not the other side is waited for. */
  pause() {
    this.#stopwatch.pause();
  }

  /** From now on time counts again. */
  resume() {
    this.#stopwatch.run();
  }

  /**
   * Tells how the call ended. Nobody has to wait for what it returns.
   *
   * @param {Verdict} verdict
   * @returns {Promise<void> | undefined} What goes on, where anything does. Never rejects.
   */
  settle(verdict) {
    return this.#tell({ tag: 'judged', val: verdict });
  }

  /** Tells that the call was given up before there was anything to judge. Frees a probe's lease. */
  drop() {
    return this.#tell({ tag: 'dropped' });
  }

  /** @param {Ending} ending */
  #tell(ending) {
    this.#stopwatch.stop();
    const permit = this.#permit;
    this.#permit = undefined;
    if (!permit) {
      return undefined;
    }
    const timing = { latencyMs: BigInt(Math.round(this.latencyMs)), overdue: this.#isOverdue };
    const settling = this.#guard.settle(permit, ending, timing, this.#facts);
    const telling = this.#telling;
    return telling ? telling.then(() => settling) : settling;
  }

  #tellOverdue() {
    if (this.#permit) {
      this.#isOverdue = true;
      this.#telling = this.#guard.overdue(this.#permit, this.#facts);
    }
  }
}
