/**
 * @file One call through the policy: admit, make it, classify, settle.
 *
 * @import { Admission, Context, DomainState, Ending, Event, Fact, Limits } from './contract.js'
 * @import { Media, Observation, OverrideOrder, Permit, Progress, Refusal, Step } from './contract.js'
 * @import { Store, Target, Timing, Verdict, Wanted } from './contract.js'
 * @import { Export } from './exports.js'
 * @import { Policy } from './policy.js'
 * @import { StoreError } from './store/errors.js'
 */

import { Admitted, RefusedError } from './admitted.js';
import { STORE_PATIENCE_MS, ask } from './ask.js';
import { entropy } from './entropy.js';
import { Evidence, cut } from './evidence.js';
import { Fault } from './fault.js';
import { WANTED_BY_DEFAULT } from './policy.js';
import { LocalStore } from './store/local.js';
import { MemoryStore } from './store/memory.js';
import { Tape } from './tape.js';
import { withoutPolicy } from './unjudged.js';

/**
 * Something that happened.
 *
 * @typedef {(
 *   | { type: 'event', event: Event }
 *   | { type: 'refused', target: Target, refusal: Refusal }
 *   | { type: 'judged', target: Target, verdict: Verdict }
 *   | { type: 'store', error: StoreError }
 *   | { type: 'fault', during: string, fault: Fault }
 * )} Notice `event`: one of the breaker that this host brought about. `refused`: a call was
 *   refused. `judged`: an attempt was settled with this verdict. `store`: why the store did not
 *   answer; the policy decided without it. `fault`: the policy failed; the call in which it did was
 *   let through.
 */

/**
 * What the caller knows of a call.
 *
 * @typedef {object} CallFacts
 * @property {number} [limitMs] The longest that the call may last. A probe's lease lasts at least
 *   as long.
 * @property {bigint} [fingerprint] A digest of the request, the same for equal requests.
 */

/** Guards calls with one policy on one store. */
export class Guard {
  #policy;
  #evidence;
  #store;
  #prefix;
  #patienceMs;
  /** @type {string | undefined} */
  #instance;
  #onEvent;
  #onStoreError = (/** @type {StoreError} */ error) => this.#tell({ type: 'store', error });
  /** @type {Set<Promise<void>>} */
  #onTheirWay = new Set();

  /**
   * @param {object} options
   * @param {Policy} options.policy
   * @param {Store} [options.store] By default in this process's memory. One that is elsewhere
   *   belongs in a `WatchedStore`, so that it cannot slow calls down. What is of interest to this
   *   guard alone is kept in this process, whatever the store.
   * @param {string} [options.prefix] What every key begins with; the same as in the policy's
   *   configuration.
   * @param {string} [options.instance] This host's id, distinct in the fleet. By default random.
   * @param {number} [options.patienceMs] How long one operation of the store is waited for.
   * @param {(notice: Notice) => void} [options.onEvent] Is told what happens, on the caller's path.
   */
  constructor({ policy, store = new MemoryStore(), prefix = 'fusewire', ...options }) {
    this.#policy = policy;
    this.#evidence = new Evidence(policy);
    this.#store = new LocalStore(store, prefix);
    this.#prefix = prefix;
    this.#instance = options.instance;
    this.#patienceMs = options.patienceMs ?? STORE_PATIENCE_MS;
    this.#onEvent = options.onEvent;
  }

  /** The present time on the fleet's clock, in ms since the Unix epoch. */
  nowMs() {
    return this.#store.nowMs();
  }

  /** The policy. */
  get policy() {
    return this.#policy;
  }

  /** This host's id. */
  get instance() {
    // Made when it is first asked for: workerd has no random bits while a worker is loaded.
    this.#instance ??= `host-${(entropy() >> 32n).toString(16).padStart(8, '0')}`;
    return this.#instance;
  }

  /**
   * Asks whether a call to this target may be made now. Where the policy fails, the call is let
   * through.
   *
   * @param {Target} target
   * @param {CallFacts} [facts]
   * @returns {Promise<Admitted>} To be settled, or dropped.
   * @throws {RefusedError | TypeError}
   */
  async admit(target, facts) {
    if (typeof target?.provider !== 'string') {
      throw new TypeError('a target has at least a provider, such as { provider: "geocoder" }');
    }
    /** @type {Admission} */
    let admission;
    try {
      admission = await this.#ask('admit', target, this.#context(facts));
    } catch (thrown) {
      this.#fault('admit', thrown);
      return new Admitted(this, undefined, {});
    }
    this.#events(admission.events);
    const { tag, val } = admission.decision;
    if (tag === 'allowed') {
      return new Admitted(this, val, admission.limits ?? olderLimits(val, facts), facts);
    }
    this.#tell({ type: 'refused', target, refusal: val });
    throw new RefusedError(val);
  }

  /**
   * What the policy looks at in answers of this target, so that nobody gathers more: the beginning
   * of the body above all. Asked once for each provider and configuration.
   *
   * @param {Target} target
   * @param {Media} [expect] What an observation will say that the caller can use.
   * @returns {Wanted}
   */
  wanted(target, expect = 'any') {
    try {
      return this.#evidence.wanted(target, expect);
    } catch (thrown) {
      this.#fault('wanted', thrown);
      return WANTED_BY_DEFAULT;
    }
  }

  /**
   * Judges one attempt. An observation may have more than {@link wanted} says; the policy is not
   * shown that. Where the policy fails, an answer is taken as it is and a failure goes to the next
   * provider, and neither is counted.
   *
   * @param {Target} target
   * @param {Observation} observation
   * @returns {Verdict}
   */
  classify(target, observation) {
    const seen = cut(observation, this.wanted(target, observation.expect));
    try {
      return this.#policy.classify(target, seen);
    } catch (thrown) {
      this.#fault('classify', thrown);
      return withoutPolicy(observation);
    }
  }

  /**
   * Tells the policy how a call ended; {@link Admitted} does. What needs no waiting is done before
   * this returns, so that this host sees its own state changes at once; the rest goes on off the
   * caller's path.
   *
   * @param {Permit} permit
   * @param {Ending} ending
   * @param {Timing} [timing]
   * @param {CallFacts} [facts] Those of its admission.
   * @returns {Promise<void> | undefined} What goes on, where anything does. Never rejects.
   */
  settle(permit, ending, timing = { overdue: false }, facts) {
    if (ending.tag === 'judged') {
      this.#tell({ type: 'judged', target: permit.target, verdict: ending.val });
    }
    return this.#report('settle', permit, ending, timing, this.#context(facts));
  }

  /**
   * Tells the policy that a call is still under way which takes longer than it wants to wait for the
   * end; {@link Admitted} does. As {@link settle} otherwise.
   *
   * @param {Permit} permit
   * @param {CallFacts} [facts] Those of its admission.
   * @returns {Promise<void> | undefined} What goes on, where anything does. Never rejects.
   */
  overdue(permit, facts) {
    return this.#report('overdue', permit, this.#context(facts));
  }

  /**
   * Decides the next step of a logical call.
   *
   * @param {Progress} progress
   * @param {Verdict} verdict
   * @param {CallFacts} [facts]
   * @returns {Promise<Step>}
   * @throws {Fault}
   */
  async next(progress, verdict, facts) {
    return this.#ask('next', progress, verdict, this.#context(facts));
  }

  /**
   * Reads the state of a target's domains; those that the store does not answer for are left out.
   *
   * @param {Target} target
   * @returns {Promise<DomainState[]>}
   * @throws {Fault}
   */
  async inspect(target) {
    return this.#ask('inspect', target, this.#context());
  }

  /**
   * Gives an operator's order for one domain; without one it is cleared.
   *
   * @param {string} domain `provider`, `provider@account` or `provider/operation`.
   * @param {OverrideOrder} [order]
   * @returns {Promise<void>}
   * @throws {Fault | import('./policy.js').OverrideError}
   */
  async order(domain, order) {
    this.#events(await this.#ask('setOrder', domain, order, this.#context()));
  }

  /**
   * Tells why a domain stands as it does, the most important first.
   *
   * @param {string} domain `provider`, `provider@account` or `provider/operation`.
   * @returns {Promise<Fact[]>}
   * @throws {Fault | import('./policy.js').OverrideError}
   */
  async explain(domain) {
    return this.#ask('explain', domain, this.#context());
  }

  /**
   * Waits until everything that was settled or dropped so far has been told to the policy. In
   * workerd: `context.waitUntil(guard.settled())`.
   *
   * @returns {Promise<void>}
   */
  async settled() {
    while (this.#onTheirWay.size > 0) {
      await Promise.all(this.#onTheirWay);
    }
  }

  /** How many outcomes are on their way to the policy. */
  get unsettled() {
    return this.#onTheirWay.size;
  }

  /**
   * Tells the policy something of a call.
   *
   * @param {Export} name
   * @param {any[]} args
   * @returns {Promise<void> | undefined} What goes on, where anything does. Never rejects.
   */
  #report(name, ...args) {
    const told = (/** @type {Event[]} */ events) => this.#events(events);
    const failed = (/** @type {unknown} */ thrown) => this.#fault(name, thrown);
    try {
      /** @type {Event[] | Promise<Event[]>} */
      const answer = this.#ask(name, ...args);
      if (answer instanceof Promise) {
        return this.#goOn(answer.then(told).then(undefined, failed));
      }
      told(answer);
    } catch (thrown) {
      failed(thrown);
    }
    return undefined;
  }

  /** @param {Promise<void>} telling Never rejects. */
  #goOn(telling) {
    this.#onTheirWay.add(telling);
    telling.then(() => this.#onTheirWay.delete(telling));
    return telling;
  }

  /**
   * @param {Export} name
   * @param {any[]} args
   * @returns {any}
   */
  #ask(name, ...args) {
    const tape = new Tape(this.#store, this.#prefix, this.#onStoreError);
    return ask(this.#policy, tape, this.#patienceMs, name, args);
  }

  /**
   * @param {CallFacts} [facts]
   * @returns {Context}
   */
  #context(facts) {
    return {
      nowMs: BigInt(this.nowMs()),
      entropy: entropy(),
      instance: this.instance,
      callLimitMs: facts?.limitMs === undefined ? undefined : BigInt(Math.ceil(facts.limitMs)),
      fingerprint: facts?.fingerprint,
    };
  }

  /** @param {Event[]} events */
  #events(events) {
    for (const event of events) {
      this.#tell({ type: 'event', event });
    }
  }

  /**
   * @param {string} during
   * @param {unknown} thrown
   */
  #fault(during, thrown) {
    if (!(thrown instanceof Fault)) {
      throw thrown;
    }
    this.#tell({ type: 'fault', during, fault: thrown });
  }

  /** @param {Notice} notice */
  #tell(notice) {
    try {
      this.#onEvent?.(notice);
    } catch (error) {
      // A listener's mistake must not decide about calls, nor go unseen.
      console.error('fusewire: onEvent failed:', error);
    }
  }
}

/**
 * What an older policy, which sets no limits, would have of a call's time: the contract has always
 * had it that a probe gets less.
 *
 * @param {Permit} permit
 * @param {CallFacts} [facts]
 * @returns {Limits}
 */
function olderLimits({ probe }, facts) {
  const limitMs = facts?.limitMs;
  return probe && limitMs !== undefined ? { totalMs: BigInt(Math.ceil(limitMs / 2)) } : {};
}
