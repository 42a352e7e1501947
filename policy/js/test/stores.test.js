import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { MemoryStore, StoreError, WatchedStore } from 'fusewire';
import { RedisStore } from 'fusewire/redis';

import { Clock } from '../src/redis/clock.js';
import { LocalStore } from '../src/store/local.js';
import { RedisServer, freePort } from './support/redis-server.js';
import { connectedStore, startedServer, tell } from './support/redis.js';
import { until } from './support/until.js';

/** @import { Store, Window } from 'fusewire' */

/**
 * @param {string} key
 * @param {Partial<Window>} [more]
 * @returns {Window}
 */
function window(key, more) {
  return { key, epoch: 1n, bucket: 0n, add: [], since: 0n, ttlMs: 60_000n, ...more };
}

/** @param {string} name */
const adding = (name) => [{ name, amount: 1n }];

/**
 * What every store refuses, before it does anything.
 *
 * @type {Array<[string, (store: Store) => unknown]>}
 */
const REFUSED = [
  ['an empty key', (store) => store.get([''])],
  ['a key of 513 bytes', (store) => store.get(['ok', 'k'.repeat(513)])],
  ['a key of 257 characters of two bytes', (store) => store.get(['é'.repeat(257)])],
  ['a value of 64 KiB and one', (store) => store.swap('k', undefined, new Uint8Array(65_537), 0n)],
  [
    'an add without a lifetime',
    (store) => store.count([window('k', { add: adding('a'), ttlMs: 0n })]),
  ],
  ['a lane without a name', (store) => store.count([window('k', { add: adding('') })])],
  ['a lane of 17 bytes', (store) => store.count([window('k', { add: adding('a'.repeat(17)) })])],
  ['a lane with a capital', (store) => store.count([window('k', { add: adding('Failure') })])],
  ['a lane with a colon', (store) => store.count([window('k', { add: adding('a:b') })])],
];

/** What no store refuses. @type {Array<[string, (store: Store) => unknown]>} */
const TAKEN = [
  ['a key of 512 bytes', (store) => store.get(['é'.repeat(256)])],
  ['a value of 64 KiB', (store) => store.swap('big', undefined, new Uint8Array(65_536), 1_000n)],
  [
    'an add of nothing without a lifetime',
    (store) => store.count([window('k', { add: [{ name: 'a', amount: 0n }], ttlMs: 0n })]),
  ],
  [
    'a lane of 16 bytes',
    (store) => store.count([window('k', { add: adding('a-9'.padEnd(16, '-')) })]),
  ],
];

/** @type {RedisServer} */
let server;
/** @type {RedisStore} */
let redis;
before(async () => {
  server = await RedisServer.start();
  redis = await RedisStore.connect(server.url);
});
after(async () => {
  redis.close();
  await server.kill();
});

for (const [name, store] of /** @type {Array<[string, () => Store]>} */ ([
  ['memory', () => new MemoryStore()],
  ['redis', () => redis],
])) {
  describe(`the store ${name}`, () => {
    for (const [what, operation] of REFUSED) {
      test(`refuses ${what}`, async () => {
        await assert.rejects(
          async () => operation(store()),
          (error) => error instanceof StoreError && error.kind === 'refused',
        );
      });
    }
    for (const [what, operation] of TAKEN) {
      test(`takes ${what}`, async () => {
        await operation(store());
      });
    }
    test('keeps all 64 bits, and sums saturate at 2^53 - 1', async () => {
      const epoch = 2n ** 64n - 1n;
      const add = [
        { name: 'b', amount: epoch },
        { name: 'a', amount: 2n },
      ];
      const wide = window('wide', { epoch, bucket: epoch - 1n, add });
      const on = store();
      await on.count([wide]);
      const [tally] = await on.count([wide]);
      const sums = [
        { name: 'a', amount: 4n },
        { name: 'b', amount: 2n ** 53n - 1n },
      ];
      assert.deepEqual(tally, { epoch, lanes: sums });
    });
    test("keeps the bytes that it was given, whatever becomes of the caller's", async () => {
      const on = store();
      const bytes = Uint8Array.of(0, 255, 10, 13);
      await on.swap('bytes', undefined, bytes, 1_000n);
      bytes.fill(7);
      const [kept] = await on.get(['bytes']);
      assert.deepEqual([...(kept ?? [])], [0, 255, 10, 13]);
    });
  });
}

test('what is gone from memory gives its memory back', () => {
  let now = 0;
  const store = new MemoryStore(() => now);
  for (let i = 0; i < 1_000; i += 1) {
    now += 10;
    store.swap(`k${i}`, undefined, Uint8Array.of(1), 100n);
  }
  assert.ok(store.held < 50, `${store.held} entries are held, and 10 live`);
});

test('a store with a limit holds so many, and what was used least recently goes', () => {
  const store = new MemoryStore(() => 1, { entriesMax: 3 });
  const put = (/** @type {string} */ key) => store.swap(key, undefined, Uint8Array.of(1), 0n);
  ['a', 'b', 'c'].forEach(put);
  store.get(['a']);
  store.count([window('d', { add: adding('x') })]);
  const left = store.get(['a', 'b', 'c']).map((value) => value !== undefined);
  assert.deepEqual(left, [true, false, true]);
  for (let i = 0; i < 1_000; i += 1) {
    put(`k${i}`);
  }
  assert.equal(store.held, 3);
});

for (const [name, shared] of /** @type {Array<[string, () => Store]>} */ ([
  ['at once', () => new MemoryStore()],
  ['later', () => redis],
])) {
  test(`keys of one instance stay in its process, beside a store that answers ${name}`, async () => {
    const store = new LocalStore(shared(), 'its');
    const [value, own] = [Uint8Array.of(1), Uint8Array.of(2)];
    await store.swap('its:s', undefined, value, 60_000n);
    await store.swap('its:local:s', undefined, own, 60_000n);
    const keys = ['its:local:none', 'its:s', 'its:local:s', 'its:none'];
    const both = (await store.get(keys)).map((found) => found && [...found]);
    assert.deepEqual(both, [undefined, [1], [2], undefined]);
    const amounts = async (/** @type {Window[]} */ windows) =>
      (await store.count(windows)).map(({ lanes }) => lanes[0]?.amount);
    const [its, shareds] = [window('its:local:w'), window('its:w')];
    const add = { add: adding('a') };
    assert.deepEqual(
      await amounts([{ ...its, ...add }, { ...shareds, ...add }, { ...its, ...add }, shareds]),
      [1n, 1n, 2n, 1n],
    );
    const [away, there] = await shared().get(['its:local:s', 'its:s']);
    assert.equal(away, undefined);
    assert.equal(there === undefined, name === 'at once', 'a memory of its own is another one');
  });
}

test('a question about both kinds of keys fails with the shared store, and counts nothing', async () => {
  const down = () => {
    throw new Error('it is gone');
  };
  const store = new LocalStore({ nowMs: () => 1, get: down, swap: down, count: down }, 'its');
  const own = window('its:local:w', { add: adding('a') });
  assert.throws(() => store.count([own, window('its:w')]), /it is gone/);
  assert.throws(() => store.get(['its:local:s', 'its:s']), /it is gone/);
  assert.throws(() => store.swap('its:localised', undefined, undefined, 0n), /it is gone/);
  const [tally] = await store.count([own]);
  assert.equal(tally.lanes[0].amount, 1n);
});

test('a server that has lost the scripts is given them again', async (t) => {
  const other = await connectedStore(t, server.url);
  const add = window('flushed', { add: adding('a') });
  await other.count([add]);
  await flushScripts();
  const [first, second, third] = await other.count([add, window('flushed'), add]);
  assert.deepEqual(
    [first, second, third].map(({ lanes }) => lanes[0].amount),
    [2n, 2n, 3n],
  );
  await flushScripts();
  assert.equal(await other.swap('flushed-too', undefined, Uint8Array.of(1), 1_000n), true);
});

const flushScripts = () => tell(server, 'SCRIPT', 'FLUSH');

test('a server that takes no writes any more is left, and found again when it does', async (t) => {
  const its = await startedServer(t);
  /** @type {string[]} */
  const told = [];
  const onError = (/** @type {Error} */ error) => told.push(error.message);
  const store = await connectedStore(t, its.url, { onError });
  const write = () => store.swap('k', undefined, Uint8Array.of(1), 60_000n);
  await tell(its, 'REPLICAOF', '127.0.0.1', String(server.port));
  await assert.rejects(write(), { kind: 'unavailable' });
  await until(() => told.some((why) => why.includes('takes no writes')), 'it is left');
  await tell(its, 'REPLICAOF', 'NO', 'ONE');
  await until(() => write().catch(() => false), 'a value is written');
});

test('a store whose server is not there yet connects when it is', async (t) => {
  const port = await freePort();
  const store = await connectedStore(t, `redis://127.0.0.1:${port}`);
  await assert.rejects(store.get(['k']), { kind: 'unavailable' });
  await startedServer(t, port);
  await until(() => store.isUp, 'the store is connected');
  assert.deepEqual(await store.get(['k']), [undefined]);
});

test('a store without its server answers at once, and again when the server is there', async (t) => {
  const its = await startedServer(t);
  const store = await connectedStore(t, its.url);
  await store.get(['k']);
  await its.kill();
  await until(() => !store.isUp, 'the connection is known to be gone');
  const began = performance.now();
  await assert.rejects(store.get(['k']), { kind: 'unavailable' });
  assert.ok(performance.now() - began < 500);
  await startedServer(t, its.port);
  await until(() => store.isUp, 'the store is connected again');
  assert.deepEqual(await store.get(['k']), [undefined]);
});

test('a server that hangs slows one call, and is in use again when it goes on', async (t) => {
  const its = await startedServer(t);
  /** @type {string[]} */
  const modes = [];
  const inner = await connectedStore(t, its.url);
  const store = new WatchedStore(inner, { limitMs: 50, onChange: (mode) => modes.push(mode) });
  await store.get(['k']);
  its.freeze();
  const began = performance.now();
  for (let calls = 0; calls < 20; calls += 1) {
    await assert.rejects(async () => store.get(['k']), { kind: 'unavailable' });
  }
  const took = performance.now() - began;
  assert.ok(took >= 49 && took < 600, `20 calls took ${took} ms`);
  // Long enough for the connection itself to be given up.
  await until(() => !inner.isUp, 'the connection is given up');
  its.thaw();
  const answers = async () => {
    try {
      return await store.get(['k']);
    } catch {
      return undefined;
    }
  };
  await until(answers, 'the store is in use again');
  assert.deepEqual(modes, ['down', 'shared']);
});

test('no message has the password in it', () => {
  assert.throws(
    () => new RedisStore('redis//user:s3cret@host:6379'),
    ({ message }) => message.includes('redis://host:6379/0') && !message.includes('s3cret'),
  );
});

test("the clock follows the server's, by the shortest of its round trips", () => {
  const clock = new Clock();
  const hour = 3_600_000;
  const sample = (/** @type {number} */ ahead, /** @type {number} */ trip) => {
    const sent = clock.local();
    return clock.sample(sent, sent + trip, sent + trip / 2 + ahead);
  };
  assert.equal(clock.follow([]), 0);
  const moved = clock.follow([sample(9 * hour, 80), sample(hour, 0.2), sample(9 * hour, 80)]);
  assert.ok(Math.abs(moved - hour) < 1, `${moved}`);
  assert.equal(clock.follow([sample(hour + 4, 10)]), 0, 'within what it can tell');
  assert.ok(clock.follow([sample(hour + 4, 0.2)]) > 3);
});
