/**
 * @file `fetch`, guarded.
 *
 * Each call is one attempt: admitted before it is made, and settled when it has ended. An answer
 * with a status from 400 on, without a body, or to the fleet's probe, is judged by its head; any
 * other by the end of its body. Telling the policy never holds the caller up.
 *
 * @import { Target } from '../contract.js'
 */

import { Guard, RefusedError } from '../guard.js';
import { Attempt } from './attempt.js';
import { judgedByItsEnd } from './body.js';
import { failureOf } from './failures.js';
import { Limit } from './limit.js';

/**
 * @typedef {object} GuardedOptions
 * @property {(request: Request) => Target} target Whom a request is made to.
 * @property {Guard} [guard] By default one of the other options, which are those of `Guard`.
 * @property {number} [limitMs] The longest that the provider may be waited for, from the request to
 *   the end of the answer. The fleet's probe gets half of it.
 * @property {number} [minimumBudgetMs] The least time in which the provider can be expected to
 *   answer: a caller's own deadline that left less is not the provider's failure.
 * @property {'throw' | 'respond'} [refused] Whether a refused call throws a `RefusedError` or
 *   answers 503 with the reason.
 * @property {(telling: Promise<void>) => void} [waitUntil] Is given what goes on after the answer,
 *   for runtimes that end a request's work with its answer: `(p) => context.waitUntil(p)`.
 */

/**
 * A `fetch` that asks the policy first.
 *
 * @param {(request: Request, init?: RequestInit) => Promise<Response>} fetch
 * @param {GuardedOptions & Partial<ConstructorParameters<typeof Guard>[0]>} options
 * @returns {((input: RequestInfo | URL, init?: RequestInit) => Promise<Response>) & { guard: Guard }}
 */
export function guarded(fetch, options) {
  const { target: targetOf, limitMs, minimumBudgetMs, refused = 'throw', waitUntil } = options;
  const guard = options.guard ?? new Guard(/** @type {any} */ (options));

  /**
   * @param {RequestInfo | URL} input
   * @param {RequestInit} [init]
   * @returns {Promise<Response>}
   */
  async function guardedFetch(input, init) {
    const request = new Request(input, init);
    const target = targetOf(request);
    const admitted = await admit(target);
    if (admitted instanceof Response) {
      return admitted;
    }
    const attempt = new Attempt(guard, admitted, target, request, minimumBudgetMs);
    waitUntil?.(attempt.told);
    const limit = new Limit(attempt.isProbe && limitMs !== undefined ? limitMs / 2 : limitMs);
    const failed = (/** @type {unknown} */ error) => end(attempt, request.signal, limit, error);
    try {
      request.signal.throwIfAborted();
      const signal = AbortSignal.any([request.signal, limit.signal]);
      const response = await attempt.waitFor(limit.during(() => fetch(request, { signal })));
      attempt.answered(response);
      if (response.status >= 400 || !response.body || attempt.isProbe) {
        attempt.judge();
      }
      return response.body ? judgedByItsEnd(response, attempt, limit, failed) : response;
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  /** @param {Target} target */
  async function admit(target) {
    try {
      return await guard.admit(target, { limitMs });
    } catch (error) {
      if (refused === 'respond' && error instanceof RefusedError) {
        return refusal(error);
      }
      throw error;
    }
  }

  return Object.assign(guardedFetch, { guard });
}

/**
 * Tells how an attempt ended that failed.
 *
 * @param {Attempt} attempt
 * @param {AbortSignal} caller
 * @param {Limit} limit
 * @param {unknown} error
 */
function end(attempt, caller, limit, error) {
  if (limit.isOver) {
    attempt.judge({ failure: 'total-timeout', cause: String(limit.signal.reason.message) });
  } else if (!caller.aborted) {
    attempt.judge(failureOf(error, attempt.hasAnswer));
  } else if (caller.reason?.name === 'TimeoutError') {
    attempt.judge({ failure: 'caller-deadline', cause: String(caller.reason.message) });
  } else {
    attempt.drop();
  }
}

/**
 * The answer to a call that was refused: 503, with the reason in the form of RFC 9457.
 *
 * @param {RefusedError} error
 * @returns {Response}
 */
function refusal({ message, reason, domain, retryAfterMs }) {
  const headers = new Headers({ 'content-type': 'application/problem+json' });
  if (retryAfterMs > 0) {
    headers.set('retry-after', String(Math.ceil(retryAfterMs / 1000)));
  }
  const body = { title: 'Refused by the breaker', status: 503, detail: message, reason, domain };
  return new Response(JSON.stringify(body), { status: 503, headers });
}
