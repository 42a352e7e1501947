/**
 * @file One attempt: what was seen of it, told to the policy once.
 *
 * @import { Observation, Target, TransportFailure } from '../contract.js'
 * @import { Admitted, Guard } from '../guard.js'
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
  #minimumBudgetMs;
  /** @type {Response | undefined} */
  #response;
  /** Time in which the provider was waited for, in ms. */
  #waitedMs = 0;
  #delivered = false;
  #isSettled = false;
  /** @type {(telling: Promise<void> | undefined) => void} */
  #done = () => {};

  /**
   * @param {Guard} guard
   * @param {Admitted} admitted
   * @param {Target} target
   * @param {Request} request
   * @param {number} [minimumBudgetMs]
   */
  constructor(guard, admitted, target, request, minimumBudgetMs) {
    this.#guard = guard;
    this.#admitted = admitted;
    this.#target = target;
    this.#request = request;
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
    const began = performance.now();
    try {
      return await something;
    } finally {
      this.#waitedMs += performance.now() - began;
    }
  }

  /** @param {Response} response Its head has arrived. */
  answered(response) {
    this.#response = response;
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
      this.#isSettled = true;
      const verdict = this.#guard.classify(this.#target, this.#observation(failed));
      this.#done(this.#admitted.settle(verdict));
    }
  }

  /** Tells that the caller went away. Only the first ending counts. */
  drop() {
    if (!this.#isSettled) {
      this.#isSettled = true;
      this.#done(this.#admitted.drop());
    }
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
        body: undefined,
      },
      failure: failed?.failure,
      cause: failed?.cause,
      latencyMs: BigInt(Math.round(this.#waitedMs)),
      nowMs: BigInt(this.#guard.nowMs()),
      idempotent: IDEMPOTENT.has(method) || headers.has('idempotency-key'),
      deliveredPartial: this.#delivered,
      expect: 'any',
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
