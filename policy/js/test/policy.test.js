import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ConfigurationError, Guard, MemoryStore, Policy, loadPolicy } from 'fusewire';

import { call, inShort, noting, seen } from './support/calls.js';
import { trapping } from './support/trapping.js';
import { until } from './support/until.js';

const target = { provider: 'p' };

test('it is the policy that the repository builds', () => {
  const { name, recordSchema } = loadPolicy().description;
  assert.equal(name, 'fusewire');
  assert.ok(recordSchema >= 1);
});

test('a configuration that is wrong is refused with every path', () => {
  const wrong = { breaker: { failures: { count: -1, windows: '1m' } }, retries: 3 };
  assert.throws(
    () => loadPolicy(wrong),
    (error) => {
      assert.ok(error instanceof ConfigurationError);
      const paths = error.problems.map(({ path }) => path);
      assert.deepEqual(paths, ['/breaker/failures/count', '/breaker/failures/windows', '/retries']);
      for (const path of paths) {
        assert.ok(error.message.includes(path), error.message);
      }
      return true;
    },
  );
  assert.throws(() => loadPolicy('{'), ConfigurationError);
});

test('a configuration with problems changes nothing', async () => {
  const policy = loadPolicy({ breaker: { failures: { count: 1 } } });
  const before = policy.configuration;
  assert.equal(policy.configure({ breaker: { failures: { count: 'two' } } }).length, 1);
  assert.equal(policy.problemsWith({ nonsense: 1 }).length, 1);
  assert.equal(policy.configuration, before);
  const guard = new Guard({ policy });
  await call(guard, target, 503);
  await assert.rejects(guard.admit(target), { name: 'RefusedError', reason: 'open', domain: 'p' });
});

test('a name that begins with a byte order mark keeps it', async () => {
  const policy = loadPolicy({ breaker: { failures: { count: 1 } } });
  const guard = new Guard({ policy });
  await call(guard, { provider: '\uFEFFp' }, 503);
  await assert.rejects(guard.admit({ provider: '\uFEFFp' }), { domain: '\uFEFFp' });
  (await guard.admit(target)).drop();
});

test('a policy that traps lets its calls through and is counted', async () => {
  const policy = Policy.load(trapping('attempts#admit'));
  const { guard, notices } = noting({ policy });
  for (let times = 1; times <= 3; times += 1) {
    const admitted = await guard.admit(target);
    assert.equal(admitted.isProbe, false);
    admitted.settle(guard.classify(target, seen(503)));
    assert.equal(policy.faults, times);
  }
  const faults = inShort(notices);
  assert.equal(faults.length, 3);
  assert.ok(
    faults.every((fault) => fault.startsWith('fault: admit: the policy trapped: ')),
    faults[0],
  );
});

test('an attempt that a trapped policy did not judge counts nowhere', async () => {
  const policy = Policy.load(trapping('classifier#classify'));
  const { guard } = noting({ policy });
  for (let times = 0; times < 10; times += 1) {
    const admitted = await guard.admit(target);
    const verdict = guard.classify(target, seen(503));
    assert.equal(verdict.effect, 'neutral');
    assert.equal(verdict.nextProvider, false);
    admitted.settle(verdict);
  }
  const [state] = await guard.inspect(target);
  assert.equal(state.phase, 'closed');
  assert.equal(state.failures, 0n);
});

test('the instance after a trap has the configuration of the one before', async () => {
  const order = 'operator#set-order';
  const policy = Policy.load(trapping(order), { breaker: { failures: { count: 2 } } });
  const store = new MemoryStore();
  const { guard, notices } = noting({ policy, store });
  await assert.rejects(guard.order('p'), { name: 'Fault', kind: 'trap' });
  await call(guard, target, 503);
  await call(guard, target, 503);
  await assert.rejects(guard.admit(target), { reason: 'open' });
  assert.equal(policy.faults, 1);
  assert.deepEqual(inShort(notices).at(-1), 'refused: open');
});

test('an outcome that a trapped policy did not take is told', async () => {
  const policy = Policy.load(trapping('attempts#settle'));
  const { guard, notices } = noting({ policy });
  await call(guard, target, 200);
  assert.match(inShort(notices).at(-1) ?? '', /^fault: settle: the policy trapped: /);
});

test('a policy that traps when a call is overdue is told of its end all the same', async () => {
  const breaker = { 'slow-ratio': { share: 0.5, minimum: 1 } };
  const policy = Policy.load(trapping('attempts#overdue'), { slow: '1ms', breaker });
  const { guard, notices } = noting({ policy });
  const admitted = await guard.admit(target);
  await until(() => policy.faults === 1, 'it has trapped');
  await admitted.settle(guard.classify(target, seen(200)));
  const [fault, judged] = inShort(notices);
  assert.match(fault, /^fault: overdue: the policy trapped: /);
  assert.equal(judged, 'judged: status/200');
  assert.equal((await guard.inspect(target))[0].successes, 1n);
});

test("a target that is none is the caller's mistake and reaches no policy", async () => {
  const guard = new Guard({ policy: loadPolicy() });
  await assert.rejects(guard.admit(/** @type {any} */ ({})), TypeError);
  assert.equal(guard.policy.faults, 0);
});

test('a listener that throws decides about no call', async (t) => {
  const told = t.mock.method(console, 'error', () => {});
  const guard = new Guard({
    policy: loadPolicy(),
    onEvent: () => {
      throw new Error('a mistake');
    },
  });
  await call(guard, target, 200);
  assert.equal(told.mock.callCount(), 1);
});

test("an operator's order is carried out, and one that makes no sense is refused", async () => {
  const guard = new Guard({ policy: loadPolicy() });
  await guard.order('p', { mode: 'open', who: 'operator', why: 'maintenance', untilMs: 0n });
  await assert.rejects(guard.admit(target), { reason: 'override' });
  await guard.order('p');
  (await guard.admit(target)).drop();
  await assert.rejects(guard.order(''), {
    name: 'OverrideError',
    message: 'the provider has no name',
  });
});
