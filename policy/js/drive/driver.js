/**
 * @file Plays scenarios that the tests of the repository hand over: one JSON object in, one out.
 *
 * What it plays with is what is shipped: the policy, the replay, the store. Test support, and not
 * in the package.
 *
 * @import { Store } from '../src/contract.js'
 * @import { Export } from '../src/exports.js'
 * @import { Policy } from '../src/policy.js'
 */

import { ask } from '../src/ask.js';
import { OverrideError } from '../src/policy.js';
import { StoreError } from '../src/store/errors.js';
import { Tape } from '../src/tape.js';
import { Stage } from './stage.js';
import { fromWire, parse, print, variantFromWire } from './values.js';

/** How long one operation is waited for, in ms: a slow machine is not what is tested here. */
const PATIENCE_MS = 10_000;

export class Driver {
  #policy;
  #store;
  #stage;
  #prefix = 'fusewire';

  /**
   * @param {Policy} policy
   * @param {Store} store
   */
  constructor(policy, store) {
    this.#policy = policy;
    this.#store = store;
    this.#stage = new Stage(store, this.#prefix);
  }

  /**
   * Answers one request.
   *
   * @param {string} line
   * @returns {Promise<string>} The answer; for what goes wrong, one with a `fault`.
   */
  async answer(line) {
    try {
      const request = parse(line);
      const [[verb, argument], ...more] = Object.entries(request);
      const handle = this.#verbs[verb];
      if (!handle || more.length > 0) {
        throw new Error(
          `a request is an object with one of: ${Object.keys(this.#verbs).join(', ')}`,
        );
      }
      return print(await handle(argument));
    } catch (error) {
      return print({ fault: error instanceof Error ? error.message : String(error) });
    }
  }

  /** @type {Record<string, (argument: any) => any>} */
  #verbs = {
    describe: () => ({ description: this.#policy.description }),
    configure: (json) => {
      this.#stage.reset(this.#prefix);
      return { problems: this.#policy.configure(json) };
    },
    prefix: (prefix) => {
      this.#prefix = prefix;
      return { done: true };
    },
    stage: ({ up }) => {
      this.#stage.setUp(up);
      return { done: true };
    },
    'lose-counter': (key) => {
      this.#stage.loseCounter(key);
      return { done: true };
    },

    classify: ({ target, observation }) => ({
      verdict: this.#policy.classify(fromWire(target), fromWire(observation)),
    }),
    admit: ({ target, context }) =>
      this.#ask('admission', 'admit', fromWire(target), fromWire(context)),
    overdue: ({ permit, context }) =>
      this.#ask('events', 'overdue', fromWire(permit), fromWire(context)),
    settle: ({ permit, ending, timing, context }) =>
      this.#ask(
        'events',
        'settle',
        fromWire(permit),
        variantFromWire(ending),
        timing ? fromWire(timing) : { overdue: false },
        fromWire(context),
      ),
    inspect: ({ target, context }) =>
      this.#ask('states', 'inspect', fromWire(target), fromWire(context)),
    'set-override': ({ domain, order, context }) =>
      this.#ask('events', 'setOverride', domain, fromWire(order), fromWire(context)),
    'set-order': ({ domain, order, context }) =>
      this.#ask('events', 'setOrder', domain, fromWire(order), fromWire(context)),
    explain: ({ domain, context }) => this.#ask('facts', 'explain', domain, fromWire(context)),
    next: ({ progress, verdict, context }) =>
      this.#ask('step', 'next', fromWire(progress), fromWire(verdict), fromWire(context)),

    get: (keys) => stored('values', () => this.#store.get(keys)),
    swap: (swap) => {
      const { key, expected, replacement, ttlMs } = fromWire(swap);
      return stored('swapped', () =>
        this.#store.swap(key, bytes(expected), bytes(replacement), BigInt(ttlMs)),
      );
    },
    count: (windows) => stored('tallies', () => this.#store.count(fromWire(windows))),
  };

  /**
   * @param {string} field Where the answer goes.
   * @param {Export} name
   * @param {any[]} args
   */
  async #ask(field, name, ...args) {
    this.#stage.takeOperations();
    const tape = new Tape(this.#stage, this.#prefix);
    /** @type {Record<string, unknown>} */
    const answer = {};
    try {
      answer[field] = await ask(this.#policy, tape, PATIENCE_MS, name, args);
    } catch (error) {
      if (!(error instanceof OverrideError)) {
        throw error;
      }
      answer.overrideError = error.refusal;
    }
    return { ...answer, operations: this.#stage.takeOperations() };
  }
}

/**
 * @param {string} field
 * @param {() => unknown} operation
 */
async function stored(field, operation) {
  try {
    return { [field]: await operation() };
  } catch (error) {
    if (!(error instanceof StoreError)) {
      throw error;
    }
    const { kind, message } = error;
    return { error: kind === 'refused' ? { tag: kind, val: message } : { tag: kind } };
  }
}

/** @param {number[] | undefined} numbers */
function bytes(numbers) {
  return numbers && Uint8Array.from(numbers);
}
