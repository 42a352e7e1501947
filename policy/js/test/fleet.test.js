import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { RefusedError, WatchedStore, loadPolicy } from 'fusewire';
import { RedisStore } from 'fusewire/redis';

import { call, inShort, noting, seen } from './support/calls.js';
import { RedisServer } from './support/redis-server.js';
import { connectedStore, startedServer, tell } from './support/redis.js';
import { until } from './support/until.js';

const target = { provider: 'geocoder' };
const configuration = {
  breaker: {
    failures: { count: 3 },
    'cool-down': { first: '1s', jitter: 0 },
    probes: { needed: 1 },
    ramp: false,
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

/**
 * A worker on a server of its own, whose store is what it is by default.
 *
 * @param {import('node:test').TestContext} t
 */
async function workerOnItsOwn(t) {
  const its = await startedServer(t);
  const inner = await connectedStore(t, its.url);
  /** @type {string[]} */
  const modes = [];
  const store = new WatchedStore(inner, { onChange: (mode) => modes.push(mode) });
  const policy = loadPolicy(configuration);
  return { its, inner, modes, ...noting({ policy, store, instance: 'a' }) };
}

/** What one key of the server has. @param {RedisServer} its @param {string} key */
async function stored(its, key) {
  const store = await RedisStore.connect(its.url);
  const [bytes] = await store.get([key]);
  store.close();
  return bytes && new TextDecoder().decode(bytes);
}

/** Fails until it is refused. @param {import('fusewire').Guard} guard */
const refusedAtLast = (guard) =>
  until(
    () =>
      call(guard, target, 503).then(
        () => undefined,
        (error) => error,
      ),
    'a call is refused',
  );

/**
 * Asks until the store is in use again.
 *
 * @param {{ guard: import('fusewire').Guard, modes: string[] }} worker
 */
const backInUse = ({ guard, modes }) =>
  until(async () => {
    await guard.admit(target).then(
      (admitted) => admitted.drop(),
      () => {},
    );
    return modes.at(-1) === 'shared';
  }, 'the store is in use again');

test('while its store is gone a worker has a breaker of its own, and the fleet learns nothing of it', async (t) => {
  const worker = await workerOnItsOwn(t);
  const { its, modes, guard, notices } = worker;
  await call(guard, target, 200);
  await its.kill();
  const refused = await refusedAtLast(guard);
  assert.ok(refused instanceof RefusedError);
  assert.equal(refused.reason, 'open');
  assert.match(refused.message, /for this instance alone$/);
  const kinds = notices.flatMap((notice) => (notice.type === 'event' ? [notice.event.kind] : []));
  const alone = kinds.filter((kind) => kind.tag === 'alone');
  assert.deepEqual(
    alone.map(({ val }) => [val.before, val.after, val.rule]),
    [['closed', 'open', 'failures']],
  );
  const back = await startedServer(t, its.port);
  await backInUse(worker);
  (await guard.admit(target)).drop();
  await guard.settled();
  assert.deepEqual(modes, ['down', 'shared'], 'each change of mode is told once');
  assert.equal(await stored(back, 'fusewire:s:{geocoder}'), undefined);
  await call(guard, target, 503);
  const keys = await tell(back, 'KEYS', '*');
  assert.deepEqual(keys, ['fusewire:w:{geocoder}']);
});

test("a worker's own findings are not written over what the fleet knows", async (t) => {
  const worker = await workerOnItsOwn(t);
  const { its, inner, modes, guard } = worker;
  const order = { mode: /** @type {const} */ ('observe'), who: 'on-call', why: 'a trial' };
  await guard.order('geocoder', { ...order, untilMs: 0n });
  await guard.order('geocoder');
  const key = 'fusewire:s:{geocoder}';
  const before = await stored(its, key);
  assert.ok(before);
  its.freeze();
  assert.equal((await refusedAtLast(guard)).reason, 'open');
  await until(() => !inner.isUp, 'the connection is given up');
  its.thaw();
  await backInUse(worker);
  (await guard.admit(target)).drop();
  await guard.settled();
  assert.deepEqual(modes, ['down', 'shared']);
  assert.equal(await stored(its, key), before);
});
