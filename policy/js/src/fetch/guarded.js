/**
 * @file `fetch`, guarded.
 *
 * Each call is one attempt: admitted before it is made, and settled when it has ended. An answer
 * with a status from 400 on, without a body, or to the fleet's probe, is judged by its head; any
 * other by the end of its body. Telling the policy never holds the caller up.
 *
 * Where the policy looks at bodies, the beginning of one belongs to the head: it is awaited, and an
 * answer that it shows to be bad is judged before the caller has any of it.
 *
 * @import { Media, Target, Verdict } from '../contract.js'
 * @import { CallFacts } from '../guard.js'
 */

import { RefusedError } from '../admitted.js';
import { Guard } from '../guard.js';
import { Attempt } from './attempt.js';
import { judgedByItsEnd } from './body.js';
import { failureOf } from './failures.js';
import { fingerprintOf } from './fingerprint.js';
import { Limit } from './limit.js';
import { Look } from './look.js';
import { Source } from './source.js';

/**
 * @typedef {object} GuardedOptions
 * @property {(request: Request) => Target} target Whom a request is made to.
 * @property {Guard} [guard] By default one of the other options, which are those of `Guard`.
 * @property {number} [limitMs] The longest that the provider may be waited for, from the request to
 *   the end of the answer. The fleet's probe may get less, as the policy says.
 * @property {number} [minimumBudgetMs] The least time in which the provider can be expected to
 *   answer: a caller's own deadline that left less is not the provider's failure.
 * @property {(request: Request) => Media} [expect] What the caller can use, such as `json`: an answer
 *   of another kind is not what it asked for. By default as the policy is configured.
 * @property {(request: Request) => bigint | undefined} [fingerprint] A digest of a request, the same
 *   for equal ones. By default of the method, the URL and the body, where that is a text or bytes.
 * @property {'throw' | 'respond'} [refused] Whether a refused call throws a `RefusedError` or
 *   answers 503 with the reason.
 * @property {(telling: Promise<void>) => void} [waitUntil] Is given what goes on after the answer,
 *   for runtimes that end a request's work with its answer: `(p) => context.waitUntil(p)`.
 */

/**
 * What is known of an attempt.
 *
 * @typedef {object} Attempted
 * @property {Verdict} [verdict] What it meant. None: the answer is good so far and is judged by its
 *   end, or the caller went away.
 * @property {boolean} isProbe Whether it was the fleet's probe.
 */

/**
 * What a guarded `fetch` has besides.
 *
 * @typedef {object} Guarded
 * @property {Guard} guard
 * @property {(ended: unknown) => Attempted | undefined} attemptOf What is known of the attempt that
 *   came to this answer or this error, so that `guard.next` can say what to do next. None: nothing
 *   was sent.
 */

/**
 * A `fetch` that asks the policy first.
 *
 * @param {(request: Request, init?: RequestInit) => Promise<Response>} fetch
 * @param {GuardedOptions & Partial<ConstructorParameters<typeof Guard>[0]>} options
 * @returns {((input: RequestInfo | URL, init?: RequestInit) => Promise<Response>) & Guarded}
 */
export function guarded(fetch, options) {
  const { target: targetOf, expect: expectOf = () => 'any', fingerprint } = options;
  const { limitMs, minimumBudgetMs, refused = 'throw', waitUntil } = options;
  const guard = options.guard ?? new Guard(/** @type {any} */ (options));
  /** By the answer or the error. @type {WeakMap<WeakKey, Attempt>} */
  const attempts = new WeakMap();

  /**
   * @param {RequestInfo | URL} input
   * @param {RequestInit} [init]
   * @returns {Promise<Response>}
   */
  async function guardedFetch(input, init) {
    const request = new Request(input, init);
    const target = targetOf(request);
    const expect = expectOf(request);
    const print = fingerprint ? fingerprint(request) : fingerprintOf(request, init?.body);
    const admitted = await admit(target, { limitMs, fingerprint: print });
    if (admitted instanceof Response) {
      return admitted;
    }
    const attempt = new Attempt(guard, admitted, target, request, expect, minimumBudgetMs);
    waitUntil?.(attempt.told);
    const limit = new Limit(shorter(limitMs, admitted.limitMs));
    const failed = (/** @type {unknown} */ error) => end(attempt, request.signal, limit, error);
    try {
      request.signal.throwIfAborted();
      const signal = AbortSignal.any([request.signal, limit.signal]);
      const response = await attempt.waitFor(limit.during(() => fetch(request, { signal })));
      const look = Look.at(request, response, guard.wanted(target, expect));
      attempt.answered(response, look);
      const source = response.body ? new Source(response.body, look) : undefined;
      if (source && look) {
        await attempt.waitFor(limit.during(() => source.lookAhead()));
      }
      if (response.status >= 400 || !source || source.hasEnded || attempt.isProbe) {
        attempt.judge();
      } else if (look) {
        attempt.judgeIfBad();
      }
      const answer = source ? judgedByItsEnd(response, source, attempt, limit, failed) : response;
      attempts.set(answer, attempt);
      return answer;
    } catch (error) {
      failed(error);
      if (error instanceof Error) {
        attempts.set(error, attempt);
      }
      throw error;
    }
  }

  /**
   * @param {Target} target
   * @param {CallFacts} facts
   */
  async function admit(target, facts) {
    try {
      return await guard.admit(target, facts);
    } catch (error) {
      if (refused === 'respond' && error instanceof RefusedError) {
        return refusal(error);
      }
      throw error;
    }
  }

  return Object.assign(guardedFetch, {
    guard,
    attemptOf: (/** @type {any} */ ended) => {
      const attempt = attempts.get(ended);
      return attempt && { verdict: attempt.verdict, isProbe: attempt.isProbe };
    },
  });
}

/**
 * The shorter of two time limits, in ms.
 *
 * @param {number | undefined} one None: no limit.
 * @param {number | undefined} other None: no limit.
 */
function shorter(one, other) {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
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
