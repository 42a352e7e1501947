/**
 * @file A policy: a component of the world `policy`, transpiled by jco.
 *
 * # Instances
 *
 * A component answers from its arguments, its configuration and its store, and nothing waits inside
 * it. JavaScript runs one call at a time, so one instance serves any number of calls in flight. An
 * instance that trapped is never called again: its state is unknown. The next call gets a new one,
 * which takes a few milliseconds.
 *
 * # Limits
 *
 * A JavaScript engine has no way to interrupt WebAssembly from the same thread, so a policy that
 * loops for ever holds its thread, as any other code would.
 *
 * @import { Artefact, Description, Observation, Problem, Target, Verdict } from './contract.js'
 * @import { Wanted } from './contract.js'
 * @import { Export } from './exports.js'
 * @import { Tape } from './tape.js'
 */

import { EXPORTS } from './exports.js';
import { Fault } from './fault.js';
import { refused } from './store/errors.js';

/**
 * What is gathered for a policy that does not say what it looks at: the first version of the
 * contract had no such question.
 *
 * @type {Wanted}
 */
export const WANTED_BY_DEFAULT = Object.freeze({
  bodyBytes: 0,
  headers: undefined,
  trailers: true,
});

/**
 * The most memory of an instance, in bytes. WebAssembly never gives memory back, so one that has
 * grown beyond this is replaced.
 */
const MEMORY_MAX_BYTES = 16 << 20;

/** What {@link Policy.run} answers where the store has not answered yet. */
export const SUSPENDED = Symbol('suspended');

/** A configuration that the policy does not accept. */
export class ConfigurationError extends Error {
  /** @param {Problem[]} problems */
  constructor(problems) {
    const line = (/** @type {Problem} */ { path, wrong, right }) =>
      `  ${path || '/'}: ${wrong}${right && `; ${right}`}`;
    super(['the policy does not accept its configuration:', ...problems.map(line)].join('\n'));
    this.name = 'ConfigurationError';
    /** Every problem, each with its path into the configuration. */
    this.problems = problems;
  }
}

/** Why an operator's order was not carried out, or his question not answered. */
export class OverrideError extends Error {
  /** @param {import('./contract.js').OverrideRefusal} refusal */
  constructor(refusal) {
    const contended = 'the record changed each time it was about to be written; try again';
    super('val' in refusal && typeof refusal.val === 'string' ? refusal.val : contended);
    this.name = 'OverrideError';
    /** The reason, as the contract has it. */
    this.refusal = refusal;
  }
}

/**
 * A configuration: a JSON text, or what becomes one.
 *
 * @typedef {string | Record<string, unknown>} Configuration
 */

/** A component with its configuration, ready to be asked. */
export class Policy {
  #artefact;
  #configuration = '{}';
  /** @type {ReturnType<Artefact['instantiate']> | undefined} None: the next call makes one. */
  #instance;
  /** @type {WebAssembly.Memory | undefined} */
  #memory;
  /** @type {Tape | undefined} The store of the call under way; none where it may not touch it. */
  #tape;
  #faults = 0;
  #description;

  /** @param {Artefact} artefact */
  constructor(artefact) {
    this.#artefact = artefact;
    this.#description = this.#call((root) => root.lifecycle.describe());
  }

  /**
   * Loads a policy and sets it up.
   *
   * @param {Artefact} artefact
   * @param {Configuration} [configuration]
   * @returns {Policy}
   * @throws {ConfigurationError} With every problem, not only the first.
   */
  static load(artefact, configuration = {}) {
    const policy = new Policy(artefact);
    const problems = policy.configure(configuration);
    if (problems.length > 0) {
      throw new ConfigurationError(problems);
    }
    return policy;
  }

  /** Who this policy is. @type {Description} */
  get description() {
    return this.#description;
  }

  /** The configuration in force, a JSON text. */
  get configuration() {
    return this.#configuration;
  }

  /** How often it trapped since it was loaded: each cost one instance. */
  get faults() {
    return this.#faults;
  }

  /**
   * Sets the policy up anew. Where there is any problem nothing changes.
   *
   * @param {Configuration} configuration
   * @returns {Problem[]} Every problem.
   */
  configure(configuration) {
    const json = textOf(configuration);
    const problems = this.#call((root) => root.lifecycle.configure(json));
    if (problems.length === 0) {
      this.#configuration = json;
    }
    return problems;
  }

  /**
   * What the policy would say to another configuration. It keeps its own.
   *
   * @param {Configuration} configuration
   * @returns {Problem[]}
   */
  problemsWith(configuration) {
    return new Policy(this.#artefact).configure(configuration);
  }

  /**
   * Judges one attempt.
   *
   * @param {Target} target
   * @param {Observation} observation
   * @returns {Verdict}
   * @throws {Fault}
   */
  classify(target, observation) {
    return this.#call((root) => root.classifier.classify(target, observation));
  }

  /**
   * What the policy looks at in answers of this target. It depends on the configuration in force
   * and on the target alone, so it may be kept; a `Guard` does.
   *
   * @param {Target} target
   * @returns {Wanted} {@link WANTED_BY_DEFAULT} where the policy does not say.
   * @throws {Fault}
   */
  wanted(target) {
    return this.#call((root) => {
      /** @type {{ wanted(target: Target): Wanted } | undefined} */
      const evidence = /** @type {any} */ (root).evidence;
      return evidence ? evidence.wanted(target) : WANTED_BY_DEFAULT;
    });
  }

  /**
   * Makes one call of an export that may touch the store, against a tape. An older policy, which does
   * not have it, is asked what comes next to it.
   *
   * @param {Export} name
   * @param {any[]} args
   * @param {Tape} tape
   * @returns {any} The answer, or {@link SUSPENDED}: the tape then holds what is awaited.
   * @throws {Fault | OverrideError}
   */
  run(name, args, tape) {
    this.#tape = tape;
    try {
      return this.#call((root) => EXPORTS[name](root, ...args));
    } catch (thrown) {
      // What is no error is the `err` of the export's result: `suspended`, by itself or as a case.
      if (thrown instanceof Error) {
        throw thrown;
      }
      const { tag } = /** @type {any} */ (thrown);
      if (tag === undefined || tag === 'suspended') {
        return SUSPENDED;
      }
      throw new OverrideError(/** @type {any} */ (thrown));
    } finally {
      this.#tape = undefined;
    }
  }

  /**
   * Calls an export. An instance in which anything went wrong is not used again.
   *
   * @template T
   * @param {(root: ReturnType<Artefact['instantiate']>) => T} call
   * @returns {T}
   */
  #call(call) {
    const root = this.#instance ?? this.#make();
    try {
      const answer = call(root);
      if (this.#memory && this.#memory.buffer.byteLength > MEMORY_MAX_BYTES) {
        this.#instance = undefined;
      }
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof Error)) {
        throw thrown;
      }
      this.#instance = undefined;
      this.#faults += 1;
      throw new Fault('trap', thrown.message, thrown);
    }
  }

  /** A new instance, configured. */
  #make() {
    const root = this.#artefact.instantiate(
      this.#artefact.module,
      // jco asks for it by this name and declares it with the version of the contract.
      /** @type {any} */ ({ 'fusewire:policy/keyvalue': this.#imports() }),
      (module, imports) => {
        const core = new WebAssembly.Instance(module, imports);
        if (core.exports.memory instanceof WebAssembly.Memory) {
          this.#memory = core.exports.memory;
        }
        return core;
      },
    );
    const problems = root.lifecycle.configure(this.#configuration);
    if (problems.length > 0) {
      const why = 'it does not accept the configuration that it has accepted before';
      throw new Fault('contract', why, new ConfigurationError(problems));
    }
    this.#instance = root;
    return root;
  }

  /** What the component imports: the tape of the call under way. */
  #imports() {
    return {
      get: (/** @type {string[]} */ keys) => this.#operate('get', keys, (store) => store.get(keys)),
      swap: (
        /** @type {string} */ key,
        /** @type {Uint8Array | undefined} */ expected,
        /** @type {Uint8Array | undefined} */ replacement,
        /** @type {bigint} */ ttlMs,
      ) => this.#operate('swap', [key], (store) => store.swap(key, expected, replacement, ttlMs)),
      count: (/** @type {import('./contract.js').Window[]} */ windows) =>
        this.#operate(
          'count',
          windows.map((window) => window.key),
          (store) => store.count(windows),
        ),
    };
  }

  /** @type {Tape['operate']} */
  #operate(kind, keys, start) {
    if (!this.#tape) {
      const { message } = refused('this export may not touch the store');
      throw { payload: { tag: 'refused', val: message } };
    }
    return this.#tape.operate(kind, keys, start);
  }
}

/**
 * @param {Configuration} configuration
 * @returns {string}
 */
function textOf(configuration) {
  return typeof configuration === 'string' ? configuration : JSON.stringify(configuration);
}
