/**
 * @file The operations of the contract on a map of entries, for stores that are such a map: in
 * memory, or in a Durable Object. Nothing here waits, so each operation is atomic where one thread
 * has the map to itself.
 *
 * @import { Tally, Window } from '../contract.js'
 */

import { refused } from './errors.js';
import { AMOUNT_MAX, adds } from './rules.js';

/**
 * A windowed counter: amounts by bucket and lane, the buckets in order of time.
 *
 * @typedef {object} Counter
 * @property {bigint} epoch Whose counts these are.
 * @property {Array<[bucket: bigint, lanes: Map<string, number>]>} buckets
 */

/**
 * What is under a key.
 *
 * @typedef {object} Entry
 * @property {Uint8Array} [value]
 * @property {Counter} [counter]
 * @property {number} expires The moment from which it is absent, in ms since the Unix epoch;
 *   infinity: it stays.
 */

/**
 * Where entries are kept.
 *
 * @typedef {object} Entries
 * @property {(key: string) => Entry | undefined} get
 * @property {(key: string, entry: Entry) => void} set
 * @property {(key: string) => void} delete
 */

/**
 * The value under a key.
 *
 * @param {Entries} entries
 * @param {string} key
 * @param {number} now
 * @returns {Uint8Array | undefined}
 */
export function read(entries, key, now) {
  return valueOf(alive(entries, key, now), key);
}

/**
 * Replaces a value where it still is what is expected.
 *
 * @param {Entries} entries
 * @param {string} key
 * @param {Uint8Array | undefined} expected
 * @param {Uint8Array | undefined} replacement
 * @param {bigint} ttlMs
 * @param {number} now
 * @returns {boolean} Whether it was replaced.
 */
export function swap(entries, key, expected, replacement, ttlMs, now) {
  if (!isSame(valueOf(alive(entries, key, now), key), expected)) {
    return false;
  }
  if (replacement) {
    const ttl = Number(ttlMs);
    // A copy: the caller's bytes are the caller's.
    entries.set(key, { value: replacement.slice(), expires: ttl > 0 ? now + ttl : Infinity });
  } else {
    entries.delete(key);
  }
  return true;
}

/**
 * Adds to one windowed counter and reads it.
 *
 * @param {Entries} entries
 * @param {Window} window
 * @param {number} now
 * @returns {Tally}
 */
export function count(entries, window, now) {
  const entry = alive(entries, window.key, now);
  if (entry && !entry.counter) {
    throw refused(`${JSON.stringify(window.key)} holds a value, not a counter`);
  }
  const held = entry?.counter;
  const epoch = BigInt(window.epoch);
  if (held && held.epoch > epoch) {
    return { epoch: held.epoch, lanes: [] };
  }
  const mine = held && held.epoch === epoch ? held : undefined;
  if (!adds(window)) {
    return mine ? tally(mine, window) : { epoch: 0n, lanes: [] };
  }
  const counter = mine ?? { epoch, buckets: [] };
  add(counter, window);
  entries.set(window.key, { counter, expires: now + Number(window.ttlMs) });
  return tally(counter, window);
}

/**
 * Whether an entry's lifetime is over.
 *
 * @param {Entry} entry
 * @param {number} now
 * @returns {boolean}
 */
export function isOver(entry, now) {
  return entry.expires <= now;
}

/**
 * @param {Entries} entries
 * @param {string} key
 * @param {number} now
 * @returns {Entry | undefined}
 */
function alive(entries, key, now) {
  const entry = entries.get(key);
  return entry && !isOver(entry, now) ? entry : undefined;
}

/**
 * @param {Entry | undefined} entry
 * @param {string} key
 * @returns {Uint8Array | undefined}
 */
function valueOf(entry, key) {
  if (entry?.counter) {
    throw refused(`${JSON.stringify(key)} holds a counter, not a value`);
  }
  return entry?.value;
}

/**
 * @param {Uint8Array | undefined} a
 * @param {Uint8Array | undefined} b
 * @returns {boolean}
 */
function isSame(a, b) {
  if (!a || !b) {
    return a === b;
  }
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Adds, and drops the buckets that are before the window.
 *
 * @param {Counter} counter
 * @param {Window} window
 */
function add(counter, window) {
  const since = BigInt(window.since);
  const begins = BigInt(window.bucket);
  if (begins >= since) {
    const lanes = bucket(counter, begins);
    for (const { name, amount } of window.add) {
      if (amount > 0) {
        raise(lanes, name, amount < AMOUNT_MAX ? Number(amount) : AMOUNT_MAX);
      }
    }
  }
  const kept = counter.buckets.findIndex(([bucketBegins]) => bucketBegins >= since);
  counter.buckets.splice(0, kept < 0 ? counter.buckets.length : kept);
}

/**
 * The lanes of a bucket, which is made where it is not there. Most adds are to the latest one, so
 * it is looked for from the end.
 *
 * @param {Counter} counter
 * @param {bigint} begins
 * @returns {Map<string, number>}
 */
function bucket(counter, begins) {
  const after = counter.buckets.findLastIndex(([bucketBegins]) => bucketBegins <= begins);
  const found = counter.buckets[after];
  if (found && found[0] === begins) {
    return found[1];
  }
  /** @type {Map<string, number>} */
  const lanes = new Map();
  counter.buckets.splice(after + 1, 0, [begins, lanes]);
  return lanes;
}

/**
 * @param {Counter} counter
 * @param {Window} window
 * @returns {Tally}
 */
function tally(counter, window) {
  const since = BigInt(window.since);
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const [begins, lanes] of counter.buckets) {
    if (begins >= since) {
      lanes.forEach((amount, name) => raise(sums, name, amount));
    }
  }
  const lanes = [...sums].map(([name, amount]) => ({ name, amount: BigInt(amount) }));
  return { epoch: counter.epoch, lanes: inOrder(lanes) };
}

/**
 * Lanes in order of their names.
 *
 * @param {Array<import('../contract.js').Lane>} lanes
 * @returns {Array<import('../contract.js').Lane>}
 */
export function inOrder(lanes) {
  // Names are ASCII, so the order of their units is that of their bytes.
  return lanes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * @param {Map<string, number>} lanes
 * @param {string} name
 * @param {number} amount At most the largest; two of those, rounded, are still above it.
 */
function raise(lanes, name, amount) {
  lanes.set(name, Math.min((lanes.get(name) ?? 0) + amount, AMOUNT_MAX));
}
