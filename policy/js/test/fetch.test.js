import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Guard, MemoryStore, RefusedError, guarded, loadPolicy } from 'fusewire';

import { failureOf } from '../src/fetch/failures.js';
import { inShort, noting } from './support/calls.js';
import { freePort } from './support/redis-server.js';
import { until } from './support/until.js';
import { Upstream } from './support/upstream.js';

/** @type {Upstream} */
let upstream;
before(async () => {
  upstream = await Upstream.start();
});
after(() => upstream.stop());

/**
 * A guarded `fetch` with a policy and a store of its own, and what it tells.
 *
 * @param {Partial<Parameters<typeof guarded>[1]> & { configuration?: any }} [options]
 */
function guarding({ configuration, ...options } = {}) {
  const { guard, notices } = noting({ policy: loadPolicy(configuration) });
  const target = () => ({ provider: 'p' });
  const ask = guarded(fetch, { guard, target, ...options });
  const judged = () => inShort(notices).filter((notice) => notice.startsWith('judged'));
  const state = async () => (await guard.inspect({ provider: 'p' }))[0];
  return { ask, guard, notices, judged, state };
}

test('an answer is passed on as it is, and judged', async () => {
  const { ask, judged } = guarding();
  const response = await ask(`${upstream.url}/ok?q=1`, { method: 'PUT', body: 'x' });
  assert.equal(response.status, 200);
  assert.equal(response.url, `${upstream.url}/ok?q=1`);
  assert.equal(await response.text(), 'all is well');
  assert.deepEqual(judged(), ['judged: status/200']);
});

test('an answer whose body nobody reads is judged too', async () => {
  const { ask, judged } = guarding();
  await ask(`${upstream.url}/ok`);
  await until(() => judged().length === 1, 'it is judged');
  await ask(`${upstream.url}/empty`);
  assert.deepEqual(judged(), ['judged: status/200', 'judged: status/204']);
});

test('a long answer comes whole, and is judged by its end', async () => {
  const { ask, judged } = guarding();
  const response = await ask(`${upstream.url}/long`);
  assert.deepEqual(judged(), []);
  assert.equal((await response.arrayBuffer()).byteLength, 400_000);
  assert.deepEqual(judged(), ['judged: status/200']);
});

test('a long answer that nobody reads on is judged by what has come', async (t) => {
  const { ask, judged } = guarding();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const response = await ask(`${upstream.url}/long`);
  const reader = /** @type {ReadableStream} */ (response.body).getReader();
  await reader.read();
  const pauses = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(30_000);
    return judged().length > 0;
  };
  while (!(await pauses())) {
    // The parts that are fetched ahead are still coming.
  }
  assert.deepEqual(judged(), ['judged: status/200']);
  await reader.cancel();
  assert.equal(judged().length, 1);
});

test('a breaker that is open keeps calls from the provider', async () => {
  const { ask, notices } = guarding({ configuration: { breaker: { failures: { count: 3 } } } });
  const url = `${upstream.url}/down?breaker`;
  upstream.seen.clear();
  const down = `${upstream.url}/down`;
  for (let calls = 0; calls < 3; calls += 1) {
    const response = await ask(down);
    assert.equal(response.status, 503);
    assert.equal(await response.text(), 'out of service');
  }
  await assert.rejects(ask(url), (error) => {
    assert.ok(error instanceof RefusedError);
    assert.equal(error.reason, 'open');
    assert.equal(error.domain, 'p');
    assert.ok(error.retryAfterMs > 1_000);
    return true;
  });
  assert.deepEqual([...upstream.seen], [['/down', 3]]);
  assert.equal(inShort(notices).at(-1), 'refused: open');
});

test('a refused call can be an answer, with the reason and when to come back', async () => {
  const configuration = { breaker: { failures: { count: 1 } } };
  const { ask } = guarding({ configuration, refused: 'respond' });
  await ask(`${upstream.url}/down`);
  const response = await ask(`${upstream.url}/ok`);
  assert.equal(response.status, 503);
  assert.ok(Number(response.headers.get('retry-after')) >= 1);
  const { reason, domain } = await response.json();
  assert.deepEqual({ reason, domain }, { reason: 'open', domain: 'p' });
});

for (const [path, rule] of [
  ['/reset', 'transport/reset'],
  ['/garbage', 'transport/protocol'],
]) {
  test(`what happens at ${path} is ${rule}`, async () => {
    const { ask, judged } = guarding();
    await assert.rejects(ask(upstream.url + path), TypeError);
    assert.deepEqual(judged(), [`judged: ${rule}`]);
  });
}

test('a refused connection is one', async () => {
  const { ask, judged } = guarding();
  await assert.rejects(ask(`http://127.0.0.1:${await freePort()}/`), TypeError);
  assert.deepEqual(judged(), ['judged: transport/connect-refused']);
});

test('a name that is not there is one', async () => {
  const { ask, judged } = guarding();
  await assert.rejects(ask('http://fusewire.invalid/'), TypeError);
  assert.match(judged()[0], /^judged: transport\/dns-(not-found|temporary)$/);
});

for (const [path, rule] of [
  ['/break', 'transport/reset-mid-body'],
  ['/short', 'transport/incomplete-body'],
]) {
  test(`a body that ends as at ${path} is ${rule}, and the reader is told`, async () => {
    const { ask, judged } = guarding();
    const response = await ask(upstream.url + path);
    assert.equal(response.status, 200);
    await assert.rejects(response.text(), TypeError);
    assert.deepEqual(judged(), [`judged: ${rule}`]);
  });
}

test('an answer that does not come within the limit is a total timeout', async () => {
  const { ask, judged } = guarding({ limitMs: 60 });
  await assert.rejects(ask(`${upstream.url}/hang`), { name: 'TimeoutError' });
  assert.deepEqual(judged(), ['judged: transport/total-timeout']);
});

test('a limit of a year is no limit of a moment', async () => {
  const { ask } = guarding({ limitMs: 365 * 24 * 3_600_000 });
  assert.equal(await (await ask(`${upstream.url}/ok`)).text(), 'all is well');
});

test('a body that does not come to its end within the limit is a total timeout', async () => {
  const { ask, judged } = guarding({ limitMs: 100 });
  const response = await ask(`${upstream.url}/stall`);
  await assert.rejects(response.text(), { name: 'TimeoutError' });
  assert.deepEqual(judged(), ['judged: transport/total-timeout']);
});

test("the time in which the caller does not read is not the provider's", async () => {
  const { ask, judged } = guarding({ limitMs: 150 });
  const response = await ask(`${upstream.url}/long`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await response.text()).length, 400_000);
  assert.deepEqual(judged(), ['judged: status/200']);
});

test("a caller who goes away is nobody's failure", async () => {
  const { ask, judged, state, guard } = guarding();
  const caller = new AbortController();
  const asking = ask(`${upstream.url}/hang`, { signal: caller.signal });
  await until(() => upstream.seen.get('/hang'), 'the request has arrived');
  caller.abort();
  await assert.rejects(asking, { name: 'AbortError' });
  await guard.settled();
  assert.deepEqual(judged(), []);
  const { failures, successes } = await state();
  assert.deepEqual({ failures, successes }, { failures: 0n, successes: 0n });
});

test("a caller who leaves in the midst of a body is nobody's failure", async () => {
  const { ask, judged } = guarding();
  for (const path of ['/long', '/stall']) {
    const response = await ask(upstream.url + path);
    const reader = /** @type {ReadableStream} */ (response.body).getReader();
    await reader.read();
    await reader.cancel();
  }
  const caller = new AbortController();
  const response = await ask(`${upstream.url}/stall`, { signal: caller.signal });
  const reading = response.text();
  caller.abort();
  await assert.rejects(reading, { name: 'AbortError' });
  assert.deepEqual(judged(), []);
});

test('a caller who was gone before is not sent for', async () => {
  const { ask, judged } = guarding();
  upstream.seen.clear();
  await assert.rejects(ask(`${upstream.url}/ok`, { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
  assert.equal(upstream.seen.size, 0);
  assert.deepEqual(judged(), []);
});

test("a caller's own deadline is told as one", async () => {
  const { ask, judged } = guarding();
  const signal = AbortSignal.timeout(40);
  await assert.rejects(ask(`${upstream.url}/hang`, { signal }), { name: 'TimeoutError' });
  assert.deepEqual(judged(), ['judged: transport/caller-deadline']);
});

test('the probe is judged by its head, and a caller who is slow holds no lease', async () => {
  const configuration = {
    breaker: {
      failures: { count: 1 },
      'cool-down': { first: '1s', jitter: 0 },
      probes: { needed: 1 },
      ramp: false,
    },
  };
  let now = Date.now();
  const store = new MemoryStore(() => now);
  const guard = new Guard({ policy: loadPolicy(configuration), store });
  const ask = guarded(fetch, { guard, target: () => ({ provider: 'p' }) });
  await ask(`${upstream.url}/down`);
  await assert.rejects(ask(`${upstream.url}/long`), RefusedError);
  now += 1_001;
  const probe = await ask(`${upstream.url}/long`);
  const other = await ask(`${upstream.url}/ok`);
  assert.equal(other.status, 200);
  assert.equal((await probe.text()).length, 400_000);
});

test('what goes on after the answer is handed over', async () => {
  /** @type {Promise<void>[]} */
  const goesOn = [];
  const { ask, judged } = guarding({ waitUntil: (telling) => goesOn.push(telling) });
  await (await ask(`${upstream.url}/ok`)).text();
  assert.equal(goesOn.length, 1);
  await goesOn[0];
  assert.equal(judged().length, 1);
});

for (const [code, failure] of [
  ['EAI_AGAIN', 'dns-temporary'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ENETUNREACH', 'network-unreachable'],
  ['CERT_HAS_EXPIRED', 'tls-certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls-certificate'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls-handshake'],
  ['UND_ERR_HEADERS_TIMEOUT', 'read-timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'read-timeout'],
  ['HPE_INVALID_CONSTANT', 'protocol'],
  ['EMFILE', 'local-resources'],
]) {
  test(`the code ${code} is ${failure}`, () => {
    const cause = Object.assign(new Error('it failed'), { code });
    const error = new TypeError('fetch failed', { cause });
    assert.deepEqual(failureOf(error, false), { failure, cause: 'it failed' });
  });
}
