import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Guard, Policy, RefusedError, guarded, loadPolicy } from 'fusewire';

import { inShort, noting, seen } from './support/calls.js';
import { older } from './support/older.js';
import { trapping } from './support/trapping.js';
import { PLACES, Upstream } from './support/upstream.js';

const GOOGLE = { providers: { google: { profile: 'google-geocoding' } } };
const ARCGIS = { providers: { arcgis: { profile: 'arcgis' } } };
const google = { provider: 'google' };

/** @type {Upstream} */
let upstream;
before(async () => {
  upstream = await Upstream.start();
});
after(() => upstream.stop());

/**
 * A guarded `fetch` to a provider, what it tells, and what the policy was shown.
 *
 * @param {Policy} policy
 * @param {string} provider
 * @param {Partial<Parameters<typeof guarded>[1]>} [options]
 */
function guarding(policy, provider, options) {
  /** @type {import('fusewire').Observation[]} */
  const shown = [];
  const classify = policy.classify.bind(policy);
  policy.classify = (target, observation) => {
    shown.push(observation);
    return classify(target, observation);
  };
  const { guard, notices } = noting({ policy });
  const ask = guarded(fetch, { guard, target: () => ({ provider }), ...options });
  const judged = () => inShort(notices).filter((notice) => notice.startsWith('judged'));
  const body = () => shown.at(-1)?.response?.body;
  return { ask, guard, judged, shown, body };
}

/** @param {Uint8Array | undefined} bytes */
const text = (bytes) => bytes && new TextDecoder().decode(bytes);

test('a policy that was built before is shown no body, and all header fields', async () => {
  const policy = Policy.load(await older('0.1.0'));
  assert.deepEqual(policy.wanted(google), {
    bodyBytes: 0,
    headers: undefined,
    trailers: true,
  });
  const { ask, judged, shown, body } = guarding(policy, 'google');
  assert.equal(await (await ask(`${upstream.url}/places`)).text(), PLACES);
  assert.equal((await ask(`${upstream.url}/down`)).status, 503);
  assert.deepEqual(judged(), ['judged: status/200', 'judged: status/503']);
  assert.equal(body(), undefined);
  assert.ok(shown[0].response?.headers.some(({ name }) => name === 'date'));
  assert.equal(policy.faults, 0);
});

test('the policy says once for each provider and configuration what it looks at', () => {
  const policy = loadPolicy(GOOGLE);
  /** @type {string[]} */
  const asked = [];
  const wanted = policy.wanted.bind(policy);
  policy.wanted = (target) => {
    asked.push(target.provider);
    return wanted(target);
  };
  const guard = new Guard({ policy });
  for (let times = 0; times < 3; times += 1) {
    assert.ok(guard.wanted({ ...google, operation: `${times}` }).bodyBytes > 0);
    assert.equal(guard.wanted({ provider: 'other' }).bodyBytes, 0);
  }
  assert.deepEqual(asked, ['google', 'other']);
  assert.deepEqual(policy.configure({}), []);
  assert.equal(guard.wanted(google).bodyBytes, 0);
});

test('the policy is shown the fields and as much of the body as it looks at', () => {
  const policy = loadPolicy(GOOGLE);
  const { guard, shown } = guarding(policy, 'google');
  const observation = seen(200);
  const long = new Uint8Array(100_000).fill(0x20);
  observation.response = { status: 200, headers: [], trailers: [], body: long };
  observation.response.headers = [
    { name: 'Retry-After', value: '1' },
    { name: 'X-Nobody-Looks', value: 'x' },
  ];
  guard.classify(google, observation);
  const { bodyBytes, headers } = guard.wanted(google);
  assert.equal(shown[0].response?.body?.length, bodyBytes);
  const names = shown[0].response?.headers.map(({ name }) => name);
  assert.deepEqual(names, headers ? ['Retry-After'] : ['Retry-After', 'X-Nobody-Looks']);
  guard.classify({ provider: 'other' }, observation);
  assert.equal(shown[1].response?.body, undefined);
  guard.classify({ provider: 'other' }, { ...observation, expect: 'image' });
  const { bodyBytes: least } = guard.wanted({ provider: 'other' }, 'image');
  assert.ok(least >= 512);
  assert.equal(shown[2].response?.body?.length, least);
});

test('a policy that traps when it is asked what it looks at is shown no body', async () => {
  const policy = Policy.load(trapping('evidence#wanted'), GOOGLE);
  const { ask, judged } = guarding(policy, 'google');
  assert.match(await (await ask(`${upstream.url}/over-limit`)).text(), /OVER_QUERY_LIMIT/);
  assert.deepEqual(judged(), ['judged: status/200']);
  assert.ok(policy.faults > 0);
});

for (const path of ['/over-limit', '/over-limit-zipped']) {
  test(`a 200 that says at ${path} that the limit is reached is throttled, and goes on to the next provider`, async () => {
    const { ask, guard, shown } = guarding(loadPolicy(GOOGLE), 'google');
    const response = await ask(upstream.url + path);
    const verdict = ask.attemptOf(response)?.verdict;
    assert.ok(verdict);
    assert.equal(verdict.outcome, 'throttled');
    assert.equal(verdict.rule, 'profile/google-geocoding/over-query-limit');
    assert.equal(shown.at(-1)?.deliveredPartial, false);
    const progress = {
      target: google,
      attempts: 3,
      attemptsInAll: 3,
      providersLeft: 1,
      probe: false,
    };
    assert.deepEqual(await guard.next(progress, verdict), { tag: 'next-provider' });
    assert.equal((await response.json()).status, 'OVER_QUERY_LIMIT');
  });
}

test('five answers 200 with an error of ArcGIS in them open the breaker', async () => {
  const { ask, judged } = guarding(loadPolicy(ARCGIS), 'arcgis');
  for (let calls = 0; calls < 5; calls += 1) {
    assert.equal((await ask(`${upstream.url}/arcgis-error`)).status, 200);
  }
  assert.deepEqual(judged(), Array(5).fill('judged: profile/arcgis/server'));
  await assert.rejects(ask(`${upstream.url}/ok`), RefusedError);
});

test('a good answer that is longer than what is looked at comes whole, and as itself', async () => {
  const { ask, judged, body } = guarding(loadPolicy(GOOGLE), 'google');
  const response = await ask(`${upstream.url}/places`);
  assert.equal(ask.attemptOf(response)?.verdict, undefined);
  assert.equal(response.url, `${upstream.url}/places`);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(await response.text(), PLACES);
  assert.deepEqual(judged(), ['judged: status/200']);
  assert.equal(ask.attemptOf(response)?.verdict?.outcome, 'success');
  const most = ask.guard.wanted(google).bodyBytes;
  assert.ok(most < PLACES.length);
  assert.equal(text(body()), PLACES.slice(0, most));
});

test('an answer is handed over at its head where no rule asks for its body', async () => {
  const { ask, judged } = guarding(loadPolicy(GOOGLE), 'other');
  const abort = new AbortController();
  const response = await ask(`${upstream.url}/head-first`, { signal: abort.signal });
  assert.equal(response.status, 200);
  abort.abort();
  assert.deepEqual(judged(), []);
  const { ask: askAll, body } = guarding(loadPolicy(GOOGLE), 'other');
  await (await askAll(`${upstream.url}/over-limit`)).text();
  assert.equal(body(), undefined);
});

test('the first event of a stream arrives while the stream is going on', async () => {
  const { ask, judged, body } = guarding(loadPolicy(GOOGLE), 'google');
  upstream.streams.length = 0;
  const response = await ask(`${upstream.url}/events`);
  assert.deepEqual(judged(), []);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const first = ': no token yet\n\ndata: {"token":"one"}\n\n';
  assert.equal(text((await reader.read()).value), first);
  const next = reader.read();
  upstream.streams[0].end('data: {"token":"two"}\n\n');
  assert.equal(text((await next).value), 'data: {"token":"two"}\n\n');
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(judged(), ['judged: status/200']);
  assert.equal(text(body()), `${first}data: {"token":"two"}\n\n`);
});

test('an error later in a stream of events is judged at its end', async () => {
  const rule = { when: { event: 'error' }, then: 'transient' };
  const profiles = { tokens: { rules: [{ name: 'failed', ...rule }] } };
  const policy = loadPolicy({ profiles, providers: { llm: { profile: 'tokens' } } });
  const { ask } = guarding(policy, 'llm');
  upstream.streams.length = 0;
  const response = await ask(`${upstream.url}/events`);
  assert.equal(ask.attemptOf(response)?.verdict, undefined);
  upstream.streams[0].end('event: error\ndata: {"type":"error"}\n\n');
  await response.text();
  const verdict = ask.attemptOf(response)?.verdict;
  assert.equal(verdict?.rule, 'profile/tokens/failed');
  assert.equal(verdict?.retrySame, false, 'a part was handed over');
});

test('what has no body by its kind has none to look at, and an empty one is empty', async () => {
  const { ask, judged, body } = guarding(loadPolicy(GOOGLE), 'google');
  for (const [path, method] of [
    ['/places', 'HEAD'],
    ['/empty', 'GET'],
  ]) {
    const response = await ask(upstream.url + path, { method });
    assert.equal(await response.text(), '');
    assert.equal(body(), undefined, path);
  }
  await ask(`${upstream.url}/nothing`);
  assert.equal(judged().length, 3);
  assert.deepEqual(body(), new Uint8Array());
});

test('a body that breaks off while it is looked at is that failure, and no answer', async () => {
  const { ask, judged, shown } = guarding(loadPolicy(GOOGLE), 'google');
  const error = await ask(`${upstream.url}/broken-json`).catch((/** @type {unknown} */ e) => e);
  assert.ok(error instanceof TypeError);
  assert.deepEqual(judged(), ['judged: transport/reset-mid-body']);
  assert.equal(ask.attemptOf(error)?.verdict?.nextProvider, true);
  assert.equal(shown[0].deliveredPartial, false);
  assert.equal(text(shown[0].response?.body), '{"results":[');
});

test('the time limit holds while a body is looked at', async () => {
  const { ask, judged } = guarding(loadPolicy(GOOGLE), 'google', { limitMs: 60 });
  await assert.rejects(ask(`${upstream.url}/stall`), { name: 'TimeoutError' });
  assert.deepEqual(judged(), ['judged: transport/total-timeout']);
});

test("a caller who goes away while a body is looked at is nobody's failure", async () => {
  const { guard, judged } = guarding(loadPolicy(GOOGLE), 'google');
  const caller = new AbortController();
  /** @type {typeof fetch} */
  const leaving = async (input, init) => {
    const response = await fetch(input, init);
    setImmediate(() => caller.abort());
    return response;
  };
  const ask = guarded(leaving, { guard, target: () => google });
  await assert.rejects(ask(`${upstream.url}/stall`, { signal: caller.signal }), {
    name: 'AbortError',
  });
  assert.deepEqual(judged(), []);
});
