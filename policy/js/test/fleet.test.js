import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { RefusedError, WatchedStore, loadPolicy } from 'fusewire';
import { RedisStore } from 'fusewire/redis';

import { call, inShort, noting, seen } from './support/calls.js';
import { RedisServer } from './support/redis-server.js';
import { connectedStore, startedServer } from './support/redis.js';
import { until } from './support/until.js';

const target = { provider: 'geocoder' };
const configuration = {
  breaker: {
    failures: { count: 3 },
    'cool-down': { first: '1s', jitter: 0 },
    probes: { needed: 1 },
  },
};

/** @type {RedisServer} */
let server;
/** @type {RedisStore[]} */
const stores = [];
before(async () => {
  server = await RedisServer.start();
});
after(async () => {
  stores.forEach((store) => store.close());
  await server.kill();
});

/** @param {string} instance */
async function worker(instance) {
  const store = await RedisStore.connect(server.url);
  stores.push(store);
  // However busy this machine is, the store is to answer here.
  const policy = loadPolicy(configuration);
  const watched = new WatchedStore(store, { limitMs: 5_000 });
  return noting({ policy, store: watched, instance, patienceMs: 5_000 });
}

test('what one worker finds out all know, and one call tests the recovery', async () => {
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(worker));
  await call(a.guard, target, 503);
  await call(b.guard, target, 'connect-refused');
  await call(a.guard, target, 503);
  await assert.rejects(c.guard.admit(target), { reason: 'open', domain: 'geocoder' });

  // All of them ask again and again until the cool-down is over.
  const workers = [a, b, c];
  const asked = async () => {
    const answers = await Promise.allSettled(
      workers.flatMap(({ guard }) => [guard.admit(target), guard.admit(target)]),
    );
    const admitted = answers.filter((answer) => answer.status === 'fulfilled');
    return admitted.length > 0 ? { admitted, answers } : undefined;
  };
  const { admitted, answers } = await until(asked, 'the cool-down is over');
  assert.equal(admitted.length, 1, 'one probe');
  assert.equal(admitted[0].value.isProbe, true);
  for (const answer of answers) {
    if (answer.status === 'rejected') {
      assert.ok(answer.reason instanceof RefusedError);
      assert.ok(['open', 'probe-in-flight'].includes(answer.reason.reason), answer.reason.reason);
    }
  }
  await admitted[0].value.settle(a.guard.classify(target, seen(200)));
  for (const { guard } of workers) {
    (await guard.admit(target)).drop();
  }
  const events = workers
    .flatMap(({ notices }) => inShort(notices))
    .filter((e) => e.startsWith('event'));
  assert.equal(events.filter((event) => event.includes('tripped')).length, 1, `${events}`);
});

test('a fleet whose store is gone refuses nobody, and shares again when it is back', async (t) => {
  const its = await startedServer(t);
  const inner = await connectedStore(t, its.url);
  const store = new WatchedStore(inner);
  const { guard, notices } = noting({ policy: loadPolicy(configuration), store });
  await its.kill();
  for (let calls = 0; calls < 10; calls += 1) {
    await call(guard, target, 503);
  }
  assert.ok(inShort(notices).includes('store: unavailable'));
  await startedServer(t, its.port);
  const failing = async () => {
    try {
      await call(guard, target, 503);
      return false;
    } catch (error) {
      return error instanceof RefusedError;
    }
  };
  await until(failing, 'the breaker is shared again, and open');
});
