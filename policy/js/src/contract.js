/**
 * @file The contract's types, as `wit/` has them and jco spells them: names in camel case, `u64` as
 * `bigint`, an `option` that is absent as `undefined`. The declarations are made by the build.
 *
 * @import * as classifier from '../dist/policy/interfaces/fusewire-policy-classifier.js'
 * @import * as breaker from '../dist/policy/interfaces/fusewire-policy-breaker.js'
 * @import * as planner from '../dist/policy/interfaces/fusewire-policy-planner.js'
 * @import * as lifecycle from '../dist/policy/interfaces/fusewire-policy-lifecycle.js'
 * @import * as keyvalue from '../dist/policy/interfaces/fusewire-policy-keyvalue.js'
 *
 * @typedef {classifier.Target} Target
 * @typedef {classifier.Observation} Observation
 * @typedef {classifier.Response} ObservedResponse
 * @typedef {classifier.TransportFailure} TransportFailure
 * @typedef {classifier.Media} Media
 * @typedef {classifier.Verdict} Verdict
 *
 * @typedef {breaker.Context} Context
 * @typedef {breaker.Permit} Permit
 * @typedef {breaker.Refusal} Refusal
 * @typedef {breaker.RefusalReason} RefusalReason
 * @typedef {breaker.Ending} Ending
 * @typedef {breaker.Transition} Transition
 * @typedef {breaker.DomainState} DomainState
 * @typedef {breaker.OverrideError} OverrideRefusal
 *
 * @typedef {planner.Progress} Progress
 * @typedef {planner.Step} Step
 *
 * @typedef {lifecycle.Description} Description
 * @typedef {lifecycle.Problem} Problem
 *
 * @typedef {keyvalue.Window} Window
 * @typedef {keyvalue.Tally} Tally
 * @typedef {keyvalue.Lane} Lane
 */

/**
 * What a policy looks at in the answers of a target. Not among the declarations that the build
 * makes, since a policy need not export `wit/evidence.wit`.
 *
 * @typedef {object} Wanted
 * @property {number} bodyBytes How much of the beginning of a body, in bytes; zero: no body.
 * @property {string[]} [headers] Which header fields, by their names in lower case. None: all.
 * @property {boolean} trailers Whether trailers are worth waiting for.
 */

/**
 * Of `wit/attempts.wit` and `wit/operator.wit`, which a policy need not export either.
 *
 * @typedef {object} Limits What a policy wants of the time of a call.
 * @property {bigint} [totalMs] The longest that it may last, in ms.
 * @property {bigint} [overdueMs] Once it has taken so long, in ms, the policy is told that it is
 *   overdue.
 *
 * @typedef {object} Timing
 * @property {bigint} [latencyMs] How long the call took, in ms.
 * @property {boolean} overdue Whether the policy was told that it is overdue.
 *
 * @typedef {breaker.EventKind | { tag: 'alone', val: Transition } | { tag: 'held', val: bigint }
 *   | { tag: 'reshaped' }} EventKind `alone`: this instance's own breaker changed its phase, and
 *   nobody else's. `held`: an account is held back until then. `reshaped`: what is in the window was
 *   counted by another configuration.
 * @typedef {Omit<breaker.Event, 'kind'> & { kind: EventKind }} Event
 *
 * @typedef {Omit<breaker.Admission, 'events'> & { limits?: Limits, events: Event[] }} Admission
 *   Without limits: the policy is older than these.
 *
 * @typedef {breaker.OverrideOrder & { enforcePercent?: number }} OverrideOrder `enforcePercent`: how
 *   many of a hundred refusals are enforced, with the mode `observe`; by default none.
 *
 * @typedef {object} Fact One thing about a domain.
 * @property {string} subject What it is about, such as `phase`: stable, for programs.
 * @property {string} value How that stands, a word or a number: for programs.
 * @property {string} says The same as a sentence.
 */

/**
 * What is there at once, or later.
 *
 * @template T
 * @typedef {T | PromiseLike<T>} Reply
 */

/**
 * A store that keeps a few small values for the fleet. `wit/keyvalue.wit` is the contract that each
 * operation keeps. An operation may answer at once or with a promise; it fails with a
 * {@link import('./store/errors.js').StoreError}, and whatever else it throws is taken as
 * `unavailable`.
 *
 * @typedef {object} Store
 * @property {(keys: string[]) => Reply<Array<Uint8Array | undefined>>} get One answer a key, in
 *   order.
 * @property {(key: string, expected: Uint8Array | undefined, replacement: Uint8Array | undefined,
 *   ttlMs: bigint) => Reply<boolean>} swap Replaces a value only where it still is `expected`.
 * @property {(windows: Window[]) => Reply<Tally[]>} count Adds to windowed counters and reads them.
 * @property {() => number} nowMs The fleet's clock, in ms since the Unix epoch. Never waits.
 */

/**
 * A transpiled policy: what jco made of a component, and how its core modules are had.
 *
 * @typedef {object} Artefact
 * @property {typeof import('../dist/policy/policy.js').instantiate} instantiate
 * @property {(name: string) => WebAssembly.Module} module
 */

export {};
