import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch } from '../workerd/launch.js';
import { driveSetup } from '../workerd/drive-setup.js';
import { RedisServer } from './support/redis-server.js';
import { until } from './support/until.js';

const DRIVE = fileURLToPath(new URL('../drive.js', import.meta.url));
const U64_MAX = '18446744073709551615';

/** @typedef {{ ask: (request: string) => Promise<string>, stop: () => Promise<unknown> }} Driver */

/**
 * A driver in a process of its own.
 *
 * @param {string} store
 * @returns {Promise<Driver>}
 */
async function inNode(store) {
  const child = spawn(process.execPath, [DRIVE, '--store', store], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (request) => {
      child.stdin.write(`${request}\n`);
      return (await lines.next()).value;
    },
    stop: async () => {
      child.stdin.end();
      assert.equal(await ended, 0, 'it ends with its input');
    },
  };
}

/** @type {RedisServer} */
let server;
/** @type {import('../workerd/launch.js').Workerd} */
let workerd;
before(async () => {
  server = await RedisServer.start();
  workerd = await launch(driveSetup());
});
after(async () => {
  await workerd.stop();
  await server.kill();
});

/** @returns {Promise<Driver>} */
async function inWorkerd() {
  const url = `${workerd.url}/drive`;
  return {
    ask: async (body) => (await fetch(url, { method: 'POST', body })).text(),
    stop: async () => {},
  };
}

/** @param {number} now */
const context = (now) =>
  `{"now-ms":${now},"entropy":${U64_MAX},"instance":"a","call-limit-ms":null,"fingerprint":${U64_MAX}}`;
const target = '{"provider":"p","account":null,"operation":"o"}';
const observation = `{"response":{"status":503,"headers":[],"trailers":[],"body":[]},"failure":null,
  "cause":null,"latency-ms":1,"now-ms":1,"idempotent":true,"delivered-partial":false,
  "expect":"any","minimum-budget-ms":null}`.replaceAll('\n', '');

for (const [name, start] of /** @type {Array<[string, () => Promise<Driver>]>} */ ([
  ['Node on memory', () => inNode('memory')],
  ['Node on Redis', () => inNode(server.url)],
  ['workerd on Durable Objects', inWorkerd],
])) {
  describe(`the driver in ${name}`, () => {
    /** @type {Driver} */
    let driver;
    const ask = async (/** @type {string} */ request) => JSON.parse(await driver.ask(request));
    before(async () => {
      driver = await start();
      assert.deepEqual(await ask('{"prefix":"drive"}'), { done: true });
      const configuration = { prefix: 'drive', breaker: { failures: { count: 2 } } };
      const configure = { configure: JSON.stringify(configuration) };
      assert.deepEqual(await ask(JSON.stringify(configure)), { problems: [] });
    });
    after(() => driver.stop());

    test('plays an outage, and counts each operation once', async () => {
      const { description } = await ask('{"describe":{}}');
      assert.equal(description.name, 'fusewire');
      assert.ok(description['record-schema'] >= 1);
      const { verdict } = await ask(
        `{"classify":{"target":${target},"observation":${observation}}}`,
      );
      assert.equal(verdict.rule, 'status/503');
      for (let calls = 0; calls < 2; calls += 1) {
        const { admission, operations } = await ask(
          `{"admit":{"target":${target},"context":${context(1_000)}}}`,
        );
        assert.equal(operations, 1);
        const permit = JSON.stringify(admission.decision.allowed);
        const ending = JSON.stringify({ judged: verdict });
        const settle = `{"settle":{"permit":${permit},"ending":${ending},"context":${context(1_001)}}}`;
        const settled = await ask(settle);
        assert.ok(settled.operations >= 1);
        assert.equal(settled.events.length, calls);
      }
      const { admission } = await ask(`{"admit":{"target":${target},"context":${context(1_002)}}}`);
      assert.equal(admission.decision.refused.reason, 'open');
      const { states } = await ask(`{"inspect":{"target":${target},"context":${context(1_002)}}}`);
      assert.deepEqual(
        states.map((/** @type {any} */ { phase }) => phase),
        ['open', 'closed'],
      );
    });

    test('a body reaches the policy, byte for byte', async () => {
      const providers = { google: { profile: 'google-geocoding' } };
      const configure = { configure: JSON.stringify({ prefix: 'drive', providers }) };
      assert.deepEqual(await ask(JSON.stringify(configure)), { problems: [] });
      const classify = JSON.parse(`{"target":${target},"observation":${observation}}`);
      classify.target.provider = 'google';
      const body = Buffer.from(
        '{"results":[],"status":"OVER_QUERY_LIMIT","\u00fc":"\ud83d\udd25"}',
      );
      classify.observation.response = { status: 200, headers: [], trailers: [], body: [...body] };
      const { verdict } = await ask(JSON.stringify({ classify }));
      assert.equal(verdict.rule, 'profile/google-geocoding/over-query-limit');
      classify.observation.response.body = null;
      const { verdict: unseen } = await ask(JSON.stringify({ classify }));
      assert.equal(unseen.rule, 'status/200');
    });

    test('takes a dropped call, a next step and an order', async () => {
      const permit = `{"target":${target},"probe":false,"token":"forged"}`;
      const settle = `{"settle":{"permit":${permit},"ending":"dropped","context":${context(1)}}}`;
      const { events } = await ask(settle);
      assert.deepEqual(events[0].kind, { ignored: 'invalid-permit' });
      const { verdict } = await ask(
        `{"classify":{"target":${target},"observation":${observation}}}`,
      );
      const progress = `{"target":${target},"attempts":1,"attempts-in-all":1,"providers-left":1,"probe":false,"deadline-ms":null}`;
      const { step } = await ask(
        `{"next":{"progress":${progress},"verdict":${JSON.stringify(verdict)},"context":${context(1)}}}`,
      );
      assert.ok(step === 'next-provider' || 'retry' in step, JSON.stringify(step));
      const order = `{"set-override":{"domain":"","order":null,"context":${context(1)}}}`;
      const refused = await ask(order);
      assert.deepEqual(refused['override-error'], { invalid: 'the provider has no name' });
    });

    test('keeps all 64 bits', async () => {
      const window = `{"key":"drive:bits","epoch":${U64_MAX},"bucket":${U64_MAX},"add":[{"name":"a","amount":${U64_MAX}}],"since":${U64_MAX},"ttl-ms":60000}`;
      assert.equal(
        await driver.ask(`{"count":[${window}]}`),
        `{"tallies":[{"epoch":${U64_MAX},"lanes":[{"name":"a","amount":9007199254740991}]}]}`,
      );
    });

    test("hands the store's own operations through, down or not", async () => {
      await ask('{"stage":{"up":false}}');
      const { admission, operations } = await ask(
        `{"admit":{"target":${target},"context":${context(2_000)}}}`,
      );
      assert.equal(operations, 2, "the fleet's keys, and then its own");
      assert.ok('store' in admission.events[0].kind);
      const swap =
        '{"swap":{"key":"drive:v","expected":null,"replacement":[0,255],"ttl-ms":60000}}';
      assert.deepEqual(await ask(swap), { swapped: true });
      assert.deepEqual(await ask(swap), { swapped: false });
      assert.deepEqual(await ask('{"get":["drive:none","drive:v"]}'), { values: [null, [0, 255]] });
      const { error } = await ask('{"get":[""]}');
      assert.match(error.refused, /may have 1 to 512/);
      await ask('{"stage":{"up":true}}');
    });

    test('an instance has a breaker of its own while the store is down, until it is configured', async () => {
      const breaker = { failures: { count: 2 }, 'cool-down': { jitter: 0 } };
      const configure = JSON.stringify({
        configure: JSON.stringify({ prefix: 'drive', breaker }),
      });
      const alone = '{"provider":"alone","account":null,"operation":null}';
      const admit = `{"admit":{"target":${alone},"context":${context(5_000)}}}`;
      await ask(configure);
      await ask('{"stage":{"up":false}}');
      const { verdict } = await ask(
        `{"classify":{"target":${target},"observation":${observation}}}`,
      );
      const kinds = [];
      for (let calls = 0; calls < 2; calls += 1) {
        const { admission } = await ask(admit);
        const settle = {
          permit: admission.decision.allowed,
          ending: { judged: verdict },
          timing: { 'latency-ms': 3, overdue: false },
          context: JSON.parse(context(5_001).replaceAll(U64_MAX, '1')),
        };
        const { events, operations } = await ask(JSON.stringify({ settle }));
        assert.ok(operations >= 1);
        kinds.push(...events.map((/** @type {any} */ { kind }) => kind));
      }
      assert.equal(kinds.length, 1);
      const { after, rule } = kinds[0].alone;
      assert.deepEqual([after, rule], ['open', 'failures']);
      assert.equal((await ask(admit)).admission.decision.refused.reason, 'open');
      await ask('{"stage":{"up":true}}');
      assert.ok((await ask(admit)).admission.decision.allowed, "the fleet's has the word again");
      await ask(configure);
      await ask('{"stage":{"up":false}}');
      assert.ok((await ask(admit)).admission.decision.allowed, 'it begins anew');
      await ask('{"stage":{"up":true}}');
    });

    test('hands on what a policy wants of the time of a call, and when it is overdue', async () => {
      const breaker = {
        failures: { count: 1 },
        'cool-down': { first: '1s', jitter: 0 },
        'slow-ratio': { share: 0.5, minimum: 2 },
      };
      const configuration = JSON.stringify({ prefix: 'drive', slow: '2s', breaker });
      assert.deepEqual(await ask(JSON.stringify({ configure: configuration })), { problems: [] });
      const slow = '{"provider":"slow","account":null,"operation":null}';
      const timed = context(1_000).replace('"call-limit-ms":null', '"call-limit-ms":8000');
      const { admission } = await ask(`{"admit":{"target":${slow},"context":${timed}}}`);
      assert.deepEqual(admission.limits, { 'total-ms': null, 'overdue-ms': 2_000 });
      const permit = JSON.stringify(admission.decision.allowed);
      const overdue = `{"overdue":{"permit":${permit},"context":${context(3_000)}}}`;
      assert.deepEqual((await ask(overdue)).events, []);
      const { events, operations } = await ask(overdue);
      assert.ok(operations >= 2);
      assert.equal(events[0].kind.transition.rule, 'slow-ratio');
      const { admission: probe } = await ask(
        `{"admit":{"target":${slow},"context":${timed.replace('1000', '9000')}}}`,
      );
      assert.equal(probe.decision.allowed.probe, true);
      assert.deepEqual(probe.limits, { 'total-ms': 4_000, 'overdue-ms': 2_000 });
    });

    test('takes an order with a share of enforcement, and explains a domain', async () => {
      const order = {
        mode: 'observe',
        'enforce-percent': 25,
        who: 'operator@desk',
        why: 'a trial',
        'until-ms': 0,
      };
      const set = `{"set-order":{"domain":"ordered","order":${JSON.stringify(order)},"context":${context(1)}}}`;
      const { events, operations } = await ask(set);
      assert.deepEqual(events[0].kind, { ordered: 'observe' });
      assert.equal(operations, 2);
      const explain = (/** @type {string} */ domain) =>
        ask(`{"explain":{"domain":"${domain}","context":${context(1)}}}`);
      const { facts, operations: reads } = await explain('ordered');
      assert.ok(reads >= 1);
      const { value, says } = facts.find((/** @type {any} */ { subject }) => subject === 'order');
      assert.equal(value, 'observe');
      assert.match(says, /^25 of a hundred refusals are enforced/);
      assert.deepEqual((await explain(''))['override-error'], {
        invalid: 'the provider has no name',
      });
      const clear = `{"set-order":{"domain":"ordered","order":null,"context":${context(1)}}}`;
      assert.deepEqual((await ask(clear)).events[0].kind, { ordered: null });
    });

    test('a lost counter is begun anew', async () => {
      const read = async () => {
        const { states } = await ask(
          `{"inspect":{"target":{"provider":"lost","account":null,"operation":null},"context":${context(3_000)}}}`,
        );
        return states[0].failures;
      };
      const permit =
        '{"target":{"provider":"lost","account":null,"operation":null},"probe":false,"token":"c:0"}';
      const { verdict } = await ask(
        `{"classify":{"target":${target},"observation":${observation}}}`,
      );
      const ending = JSON.stringify({ judged: verdict });
      await ask(`{"settle":{"permit":${permit},"ending":${ending},"context":${context(3_000)}}}`);
      assert.equal(await read(), 1);
      assert.deepEqual(await ask('{"lose-counter":"drive:w:{lost}"}'), { done: true });
      assert.equal(await read(), 0);
    });

    test('says what is wrong with a request, and goes on', async () => {
      for (const request of ['nonsense', '{}', '{"fly":1}', '{"admit":{}}', '{"settle":null}']) {
        assert.equal(typeof (await ask(request)).fault, 'string', request);
      }
      assert.deepEqual(await ask('{"stage":{"up":true}}'), { done: true });
    });
  });
}

test('a Durable Object gives back the storage of what is gone', async () => {
  const { ask } = await inWorkerd();
  const held = async () => Number(await (await fetch(`${workerd.url}/held?tag=gone`)).text());
  await ask('{"swap":{"key":"drive:s:{gone}","expected":null,"replacement":[1],"ttl-ms":100}}');
  const add = '{"name":"a","amount":1}';
  await ask(
    `{"count":[{"key":"drive:w:{gone}","epoch":0,"bucket":0,"add":[${add}],"since":0,"ttl-ms":400}]}`,
  );
  assert.equal(await held(), 2);
  await until(async () => (await held()) === 0, 'its storage is empty');
});
