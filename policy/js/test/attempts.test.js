import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Guard, MemoryStore, Policy, guarded, loadPolicy } from 'fusewire';

import { fingerprintOf } from '../src/fetch/fingerprint.js';
import { call, inShort, noting, seen } from './support/calls.js';
import { older } from './support/older.js';
import { until } from './support/until.js';
import { Upstream } from './support/upstream.js';

const target = { provider: 'p' };
const SLOW = {
  slow: '100ms',
  breaker: { 'slow-ratio': { share: 0.5, minimum: 2 } },
};

/** @type {Upstream} */
let upstream;
before(async () => {
  upstream = await Upstream.start();
});
after(() => upstream.stop());

/** @param {Guard} guard */
const state = async (guard) => (await guard.inspect(target))[0];

/** @param {import('../src/guard.js').Notice[]} notices */
const eventKinds = (notices) =>
  notices.flatMap((notice) => (notice.type === 'event' ? [notice.event.kind] : []));

test('calls that hang open the breaker while they are under way, and count once', async () => {
  const { guard, notices } = noting({ policy: loadPolicy(SLOW) });
  const hanging = [await guard.admit(target), await guard.admit(target)];
  await until(() => eventKinds(notices).length > 0, 'the breaker opens');
  const [kind] = eventKinds(notices);
  assert.ok(kind.tag === 'transition' && kind.val.rule === 'slow-ratio');
  await assert.rejects(guard.admit(target), { reason: 'open' });
  await Promise.all(hanging.map((admitted) => admitted.settle(guard.classify(target, seen(200)))));
  assert.equal((await state(guard)).slow, 2n);
});

test('a call that has ended is not told of any more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { guard } = noting({ policy: loadPolicy(SLOW) });
  await call(guard, target, 200);
  (await guard.admit(target)).drop();
  t.mock.timers.tick(10_000);
  assert.equal((await state(guard)).slow, 0n);
});

test('a call that may become slow is no reason for a process to go on', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length;
  const others = timers();
  const { guard } = noting({ policy: loadPolicy(SLOW) });
  const admitted = await guard.admit(target);
  assert.equal(timers(), others);
  admitted.drop();
});

test('how long a call took is told when it is settled, without the time in which nobody waited', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const { guard } = noting({ policy: loadPolicy(SLOW) });
  const good = guard.classify(target, seen(200));
  assert.equal(good.slow, false);

  const paused = await guard.admit(target);
  paused.pause();
  now += 60_000;
  paused.resume();
  now += 99;
  assert.equal(paused.latencyMs, 99);
  await paused.settle(good);
  assert.equal((await state(guard)).slow, 0n);

  const slow = await guard.admit(target);
  now += 100;
  await slow.settle(good);
  assert.equal((await state(guard)).slow, 1n);
});

test('a reader who is slow makes no provider slow', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const { guard } = noting({ policy: loadPolicy(SLOW) });
  // As much as is fetched ahead of a reader; the rest is there when it is asked for.
  const parts = [new Uint8Array(64 * 1024), new Uint8Array(1)];
  const body = new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      part ? controller.enqueue(part) : controller.close();
    },
  });
  const ask = guarded(async () => new Response(body), { guard, target: () => target });
  const response = await ask('http://127.0.0.1/');
  await new Promise((resolve) => setImmediate(resolve));
  now += 10_000;
  t.mock.timers.tick(10_000);
  await response.arrayBuffer();
  const { slow, successes } = await state(guard);
  assert.deepEqual({ slow, successes }, { slow: 0n, successes: 1n });
});

test('one request that fails again and again opens the breaker for its own instance alone', async () => {
  const breaker = { failures: { count: 2 }, quorum: { fingerprints: 2 } };
  const store = new MemoryStore();
  const policy = loadPolicy({ breaker });
  const [a, b] = ['a', 'b'].map((instance) => noting({ policy, store, instance }));
  const fail = async (/** @type {bigint} */ fingerprint) => {
    const admitted = await a.guard.admit(target, { fingerprint });
    await admitted.settle(a.guard.classify(target, seen(503)));
  };
  await fail(1n);
  await fail(1n);
  assert.deepEqual(
    eventKinds(a.notices).map(({ tag }) => tag),
    ['alone'],
  );
  await assert.rejects(a.guard.admit(target), { reason: 'open' });
  const admitted = await b.guard.admit(target, { fingerprint: 2n });
  await admitted.settle(b.guard.classify(target, seen(503)));
  await assert.rejects(b.guard.admit(target), { reason: 'open' });
  assert.ok(eventKinds(b.notices).some(({ tag }) => tag === 'transition'));
});

test('a guarded fetch tells requests apart by itself, or as it is told', async () => {
  const configuration = { breaker: { failures: { count: 2 }, quorum: { fingerprints: 2 } } };
  const told = async (
    /** @type {RequestInit[]} */ requests,
    /** @type {object} */ options = {},
  ) => {
    const { guard, notices } = noting({ policy: loadPolicy(configuration) });
    const ask = guarded(fetch, { guard, target: () => target, ...options });
    for (const request of requests) {
      await (await ask(`${upstream.url}/down`, request)).text();
    }
    return eventKinds(notices).map(({ tag }) => tag);
  };
  const [one, other] = ['1', '2'].map((body) => ({ method: 'POST', body }));
  assert.deepEqual(await told([one, one]), ['alone']);
  assert.deepEqual((await told([one, other])).sort(), ['alone', 'transition']);
  assert.deepEqual(await told([one, other], { fingerprint: () => 7n }), ['alone']);
});

test('a fingerprint is FNV-1a of the method, the URL and the body', () => {
  const url = 'http://127.0.0.1/';
  const of = (/** @type {BodyInit} */ body) =>
    fingerprintOf(new Request(url, { method: 'POST', body }), body);
  const fnv = (/** @type {string} */ text) =>
    Buffer.from(text).reduce(
      (hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n),
      0xcbf29ce484222325n,
    );
  assert.equal(fingerprintOf(new Request(url), undefined), fnv(`GET ${url}\n`));
  assert.equal(of('ü'), fnv(`POST ${url}\nü`));
  assert.equal(of(Uint8Array.of(120, 121).subarray(1)), fnv(`POST ${url}\ny`));
  assert.equal(of(Uint8Array.of(121).buffer), fnv(`POST ${url}\ny`));
  assert.equal(of(new URLSearchParams('a=1')), fnv(`POST ${url}\na=1`));
  assert.equal(of('x'.repeat(70_000)), of('x'.repeat(65_536)));
  // Nobody knows whether these are equal to others without taking them away.
  assert.equal(of(new Blob(['y'])), undefined);
  assert.equal(
    fingerprintOf(new Request(url, { method: 'POST', body: 'y' }), undefined),
    undefined,
  );
});

/**
 * A provider that has failed, a moment before its probe.
 *
 * @param {Policy} policy
 */
async function beforeItsProbe(policy) {
  let now = Date.now();
  const { guard, notices } = noting({ policy, store: new MemoryStore(() => now) });
  await call(guard, target, 503);
  await assert.rejects(guard.admit(target), { reason: 'open' });
  now += 1_001;
  return { guard, notices };
}
const FAILS_AT_ONCE = { failures: { count: 1 }, 'cool-down': { first: '1s', jitter: 0 } };

test('the probe has as much time as the policy gives it, and a part of that by an older one', async () => {
  const breaker = { ...FAILS_AT_ONCE, probes: { 'time-share': 0.25 } };
  for (const [policy, ms] of /** @type {const} */ ([
    [loadPolicy({ breaker }), 100],
    [Policy.load(await older('0.1.1'), { breaker }), 200],
  ])) {
    const { guard, notices } = await beforeItsProbe(policy);
    const ask = guarded(fetch, { guard, target: () => target, limitMs: 400 });
    const error = await ask(`${upstream.url}/hang`).catch((/** @type {unknown} */ e) => e);
    assert.equal(/** @type {any} */ (error).message, `no whole answer within ${ms} ms`);
    assert.equal(ask.attemptOf(error)?.isProbe, true);
    assert.equal(inShort(notices).filter((what) => what.includes('total-timeout')).length, 1);
  }
});

test('what a caller can use is told of each call', async () => {
  const { guard, notices } = noting({ policy: loadPolicy() });
  /** @type {(request: Request) => import('fusewire').Media} */
  const expect = ({ url }) => (url.endsWith('/places') ? 'json' : 'image');
  const ask = guarded(fetch, { guard, target: () => target, expect });
  await (await ask(`${upstream.url}/places`)).text();
  await (await ask(`${upstream.url}/over-limit`)).text();
  const effects = notices.flatMap((n) => (n.type === 'judged' ? [n.verdict.effect] : []));
  assert.deepEqual(effects, ['success', 'failure']);
});

test("an order's share of refusals is enforced, and explained", async () => {
  const guard = new Guard({ policy: loadPolicy({ breaker: { failures: { count: 1 } } }) });
  await call(guard, target, 503);
  const order = { who: 'on-call', why: 'a trial', untilMs: 0n };
  await guard.order('p', { ...order, mode: 'observe', enforcePercent: 100 });
  await assert.rejects(guard.admit(target), { reason: 'open' });
  const facts = await guard.explain('p');
  assert.deepEqual([facts[0].subject, facts[0].value], ['phase', 'open']);
  const [ordered] = facts.filter(({ subject }) => subject === 'order');
  assert.match(ordered.says, /^100 of a hundred refusals are enforced/);
  await guard.order('p', { ...order, mode: 'observe' });
  (await guard.admit(target)).drop();
  const wrong = guard.order('p', { ...order, mode: 'open', enforcePercent: 1 });
  await assert.rejects(wrong, { name: 'OverrideError', message: /with the mode `observe`/ });
  await assert.rejects(guard.explain('p/'), { message: 'the operation has no name' });
});

test('a policy from before limits and explanations goes on to work', async () => {
  for (const version of /** @type {const} */ (['0.1.0', '0.1.1'])) {
    const policy = Policy.load(await older(version), { ...SLOW, slow: '1ms' });
    const { guard, notices } = noting({ policy });
    const admitted = await guard.admit(target);
    assert.equal(admitted.limitMs, undefined);
    await admitted.settle(guard.classify(target, { ...seen(200), latencyMs: 5n }));
    assert.equal((await state(guard)).slow, 1n, 'by the verdict alone');
    const order = { who: 'on-call', why: 'a trial', untilMs: 0n };
    await guard.order('p', { ...order, mode: 'open' });
    await assert.rejects(guard.admit(target), { reason: 'override' });
    await guard.order('p');
    (await guard.admit(target)).drop();
    const share = guard.order('p', { ...order, mode: 'observe', enforcePercent: 10 });
    await assert.rejects(share, { name: 'OverrideError', message: /older than orders/ });
    await assert.rejects(guard.explain('p'), { name: 'OverrideError', message: /`inspect`/ });
    assert.ok(!inShort(notices).some((what) => what.startsWith('fault')));
    assert.equal(policy.faults, 0);
  }
});
