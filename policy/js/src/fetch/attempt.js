/**
 * @file One attempt: what was seen of it, told to the policy once.
 *
 * @import { Media, Observation, Target, TransportFailure, Verdict } from '../contract.js'
 * @import { Admitted } from '../admitted.js'
 * @import { Guard } from '../guard.js'
 * @import { Look } from './look.js'
 */

/** Methods that may be sent twice without harm (RFC 9110, section 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** What is wrong with the attempt, where anything is. */
/** @typedef {{ failure: TransportFailure, cause: string }} Failure */

export class Attempt {
  #guard;
  #admitted;
  #target;
  #request;
  #expect;
  #minimumBudgetMs;
  /** @type {Response | undefined} */
  #response;
  /** @type {Look | undefined} */
  #look;
  /** @type {Verdict | undefined} */
  #verdict;
  #delivered = false;
  #isSettled = false;
  /** @type {(telling: Promise<void> | undefined) => void} */
  #done = () => {};

  /**
   * @param {Guard} guard
   * @param {Admitted} admitted
   * @param {Target} target
   * @param {Request} request
   * @param {Media} expect
   * @param {number} [minimumBudgetMs]
   */
  constructor(guard, admitted, target, request, expect, minimumBudgetMs) {
    // Time in which the caller does not read is not the provider's.
    admitted.pause();
    this.#guard = guard;
    this.#admitted = admitted;
    this.#target = target;
    this.#request = request;
    this.#expect = expect;
    this.#minimumBudgetMs = minimumBudgetMs;
    /** Fulfilled when the policy has been told how the attempt ended. */
    this.told = new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  /** Whether this is the fleet's probe. */
  get isProbe() {
    return this.#admitted.isProbe;
  }

  /** What the attempt meant; nothing before it is judged, or where it never is. */
  get verdict() {
    return this.#verdict;
  }

  /** Whether the head of an answer has arrived. */
  get hasAnswer() {
    return this.#response !== undefined;
  }

  /**
   * Waits for something of the provider's.
   *
   * @template T
   * @param {PromiseLike<T>} something
   * @returns {Promise<T>}
   */
  async waitFor(something) {
    this.#admitted.resume();
    try {
      return await something;
    } finally {
      this.#admitted.pause();
    }
  }

  /**
   * @param {Response} response Its head has arrived.
   * @param {Look} [look] Has what will have been seen of its body.
   */
  answered(response, look) {
    this.#response = response;
    this.#look = look;
  }

  /** Part of the answer has been passed on. */
  delivered() {
    this.#delivered = true;
  }

  /**
   * Tells what was seen. Only the first ending counts.
   *
   * @param {Failure} [failed]
   */
  judge(failed) {
    if (!this.#isSettled) {
      this.#settle(this.#guard.classify(this.#target, this.#observation(failed)));
    }
  }

  /**
   * Tells what was seen of an answer that is still coming, unless it is good so far: then the end
   * decides.
   */
  judgeIfBad() {
    const verdict = this.#guard.classify(this.#target, this.#observation());
    const isGood = verdict.effect === 'success' || verdict.effect === 'slow-success';
    if (!isGood || verdict.retrySame || verdict.nextProvider) {
      this.#settle(verdict);
    }
  }

  /** Tells that the caller went away. Only the first ending counts. */
  drop() {
    if (!this.#isSettled) {
      this.#isSettled = true;
      this.#done(this.#admitted.drop());
    }
  }

  /** @param {Verdict} verdict */
  #settle(verdict) {
    this.#isSettled = true;
    this.#verdict = verdict;
    this.#look = undefined; // a reader may keep this for long
    this.#done(this.#admitted.settle(verdict));
  }

  /**
   * @param {Failure} [failed]
   * @returns {Observation}
   */
  #observation(failed) {
    const { method, headers } = this.#request;
    const minimum = this.#minimumBudgetMs;
    return {
      response: this.#response && {
        status: this.#response.status,
        headers: [...this.#response.headers].map(([name, value]) => ({ name, value: text(value) })),
        trailers: [],
        body: this.#look?.body,
      },
      failure: failed?.failure,
      cause: failed?.cause,
      latencyMs: BigInt(Math.round(this.#admitted.latencyMs)),
      nowMs: BigInt(this.#guard.nowMs()),
      idempotent: IDEMPOTENT.has(method) || headers.has('idempotency-key'),
      deliveredPartial: this.#delivered,
      expect: this.#expect,
      minimumBudgetMs: minimum === undefined ? undefined : BigInt(Math.ceil(minimum)),
    };
  }
}

/**
 * A field's value as text: `fetch` has each of its bytes as a character.
 *
 * @param {string} value
 * @returns {string}
 */
function text(value) {
  return /^[\x00-\x7f]*$/.test(value)
    ? value
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(
        Uint8Array.from(value, (character) => character.charCodeAt(0)),
      );
}
