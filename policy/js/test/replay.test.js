import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Fault, MemoryStore, StoreError, loadPolicy } from 'fusewire';

import { OPERATIONS_MAX, Tape } from '../src/tape.js';
import { call, inShort, noting } from './support/calls.js';

/** @import { Store } from 'fusewire' */

const target = { provider: 'p', account: 'a', operation: 'o' };
const configuration = { breaker: { failures: { count: 3 }, 'cool-down': { jitter: 0 } } };

/**
 * A store that answers each operation of another one later, in turns, and counts them.
 *
 * @param {Store} inner
 */
function delayed(inner) {
  const counts = { operations: 0, inFlight: 0, mostInFlight: 0 };
  const later = async (/** @type {() => any} */ operation) => {
    counts.operations += 1;
    counts.inFlight += 1;
    counts.mostInFlight = Math.max(counts.mostInFlight, counts.inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    counts.inFlight -= 1;
    return operation();
  };
  /** @type {Store} */
  const store = {
    nowMs: () => inner.nowMs(),
    get: (keys) => later(() => inner.get(keys)),
    swap: (...all) => later(() => inner.swap(...all)),
    count: (windows) => later(() => inner.count(windows)),
  };
  return { store, counts };
}

/** @param {Store} store */
async function story(store) {
  const { guard, notices } = noting({ policy: loadPolicy(configuration), store, instance: 'a' });
  for (const status of [200, 404, 503, 503, 503]) {
    await call(guard, target, status);
  }
  await assert.rejects(guard.admit(target), { reason: 'open' });
  const states = await guard.inspect(target);
  return { notices: inShort(notices), phases: states.map(({ domain, phase }) => [domain, phase]) };
}

test('a store that answers later is decided on as one that answers at once', async () => {
  const at = Date.now();
  const clock = () => at;
  const { store, counts } = delayed(new MemoryStore(clock));
  const [later, atOnce] = [await story(store), await story(new MemoryStore(clock))];
  assert.deepEqual(later, atOnce);
  assert.ok(counts.operations > 0);
});

test('no operation is performed twice, however often a call is made again', async () => {
  const memory = new MemoryStore();
  let direct = 0;
  /** @type {Store} */
  const counting = {
    nowMs: () => memory.nowMs(),
    get: (keys) => ((direct += 1), memory.get(keys)),
    swap: (...all) => ((direct += 1), memory.swap(...all)),
    count: (windows) => ((direct += 1), memory.count(windows)),
  };
  await story(counting);
  const { store, counts } = delayed(new MemoryStore());
  await story(store);
  assert.equal(counts.operations, direct);
});

test('one instance serves many calls in flight', async () => {
  const { store, counts } = delayed(new MemoryStore());
  const policy = loadPolicy({ breaker: { failures: { count: 1000 } } });
  const { guard } = noting({ policy, store });
  const providers = ['p', 'q', 'r'];
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => call(guard, { provider: providers[i % 3] }, 503)),
  );
  for (const provider of providers) {
    const [state] = await guard.inspect({ provider });
    assert.equal(state.failures, 100n);
  }
  assert.ok(counts.mostInFlight > 100, `${counts.mostInFlight} at once`);
  assert.equal(policy.faults, 0);
});

/** @type {Store} */
const silent = {
  nowMs: () => Date.now(),
  get: () => new Promise(() => {}),
  swap: () => new Promise(() => {}),
  count: () => new Promise(() => {}),
};

test('a store that never answers is out of reach after the patience', async () => {
  const { guard, notices } = noting({ policy: loadPolicy(), store: silent, patienceMs: 30 });
  const began = performance.now();
  (await guard.admit(target)).drop();
  const took = performance.now() - began;
  assert.ok(took >= 29 && took < 1_000, `${took} ms`);
  assert.equal(inShort(notices)[0], 'store: unavailable');
  await guard.settled();
  assert.equal(guard.unsettled, 0);
});

test('what has arrived while the thread was busy is read before its time is over', async () => {
  const { store } = delayed(new MemoryStore());
  const { guard, notices } = noting({ policy: loadPolicy(), store, patienceMs: 20 });
  const asking = guard.admit(target);
  const busyUntil = performance.now() + 60;
  while (performance.now() < busyUntil) {
    // Nothing else happens on this thread meanwhile.
  }
  (await asking).drop();
  assert.deepEqual(inShort(notices), []);
});

test('a store that throws is out of reach, and the reason is told', async () => {
  const failing = () => {
    throw new Error('the disk is full');
  };
  const store = { ...silent, get: failing, swap: failing, count: failing };
  const { guard, notices } = noting({ policy: loadPolicy(), store });
  (await guard.admit(target)).drop();
  const [notice] = notices;
  assert.ok(notice.type === 'store' && notice.error instanceof StoreError);
  assert.equal(notice.error.message, 'the disk is full');
});

test('a key outside the prefix is refused, and the store never asked', async () => {
  const policy = loadPolicy({ prefix: 'other' });
  const { store, counts } = delayed(new MemoryStore());
  const { guard, notices } = noting({ policy, store, prefix: 'fusewire' });
  await call(guard, target, 200);
  assert.equal(counts.operations, 0);
  const [notice] = notices;
  assert.ok(notice.type === 'store' && notice.error.kind === 'refused');
  assert.match(notice.error.message, /^the key "other:s:\{p\}" does not begin with "fusewire:"$/);
});

test('a policy that goes in circles is stopped', () => {
  const tape = new Tape(new MemoryStore(), 'fusewire');
  const get = () => tape.operate('get', ['fusewire:k'], (store) => store.get(['fusewire:k']));
  for (let operations = 0; operations < OPERATIONS_MAX; operations += 1) {
    assert.deepEqual(get(), [undefined]);
  }
  assert.throws(get, ({ payload }) => payload.tag === 'unavailable');
  assert.ok(tape.takeFault() instanceof Fault);
});

test('a policy that asks something else when it is called again is stopped', async () => {
  const { store } = delayed(new MemoryStore());
  const tape = new Tape(store, 'fusewire');
  const get = () => tape.operate('get', [], (on) => on.get([]));
  assert.throws(get, ({ payload }) => payload.tag === 'pending');
  assert.throws(get, ({ payload }) => payload.tag === 'pending', 'it goes on after `pending`');
  await tape.wait(1_000);
  const count = () => tape.operate('count', [], (on) => on.count([]));
  assert.throws(count, ({ payload }) => payload.tag === 'unavailable');
  assert.match(tape.takeFault()?.message ?? '', /asked the store something else/);
});
