import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { launch } from '../workerd/launch.js';
import { startedServer } from './support/redis.js';
import { until } from './support/until.js';
import { Upstream } from './support/upstream.js';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

/** Where the package is installed, as a user would. @type {string} */
let home;
/** @type {Upstream} */
let upstream;
before(async () => {
  upstream = await Upstream.start();
  home = mkdtempSync(join(tmpdir(), 'fusewire-package-'));
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', home];
  const packed = JSON.parse((await run('npm', pack, { cwd: PACKAGE })).stdout);
  const [{ filename }] = Object.values(packed);
  writeFileSync(join(home, 'package.json'), '{"type": "module", "private": true}\n');
  await run('npm', ['install', '--offline', '--no-audit', `./${filename}`], { cwd: home });
  cpSync(join(PACKAGE, 'examples'), join(home, 'examples'), { recursive: true });
});
after(async () => {
  await upstream.stop();
  rmSync(home, { recursive: true, force: true });
});

/**
 * Runs an example of the README.
 *
 * @param {string} name
 * @param {{ path?: string, also?: string[], cwd?: string, env?: Record<string, string> }} [with_]
 */
async function example(name, { path = '', also = [], cwd = home, env = {} } = {}) {
  const urls = [path, ...also].map((one) => upstream.url + one);
  const args = [join(cwd, 'examples', name), ...urls];
  const options = { cwd, env: { ...process.env, ...env } };
  return (await run(process.execPath, args, options)).stdout.trim().split('\n');
}

test('the installed package brings all that it needs, and nothing else', () => {
  assert.deepEqual(
    readdirSync(join(home, 'node_modules')).filter((n) => !n.startsWith('.')),
    ['fusewire'],
  );
  const installed = readdirSync(join(home, 'node_modules/fusewire'));
  for (const file of ['dist', 'src', 'types', 'README.md', 'LICENSE-APACHE', 'LICENSE-MIT']) {
    assert.ok(installed.includes(file), `${file} is missing among ${installed}`);
  }
  assert.ok(!installed.includes('test') && !installed.includes('drive'));
});

test('the example with fetch runs in the installed package', async () => {
  assert.deepEqual(await example('fetch.js', { path: '/ok' }), Array(7).fill('200 all is well'));
  const lines = await example('fetch.js', { path: '/down' });
  assert.equal(lines.filter((line) => line === '503 out of service').length, 5);
  assert.ok(lines.includes('event: the rule `failures` tripped'), lines.join('\n'));
  assert.match(lines.at(-1) ?? '', /^not now \(open\): ask again in \d+ ms$/);
});

test('the example with two providers goes from one to the other', async () => {
  const lines = await example('next-provider.js', { path: '/over-limit', also: ['/ok'] });
  assert.match(lines[0], /^google: .*queries per second: (retry|next-provider)$/);
  assert.equal(lines.at(-1), 'all is well');
});

test('the example with any call runs in the installed package', async () => {
  const lines = await example('any-call.js');
  assert.match(lines.join(' '), /success.*geocoder@free-plan.*closed/s);
});

test('the example with Redis runs, and shares its breaker', async (t) => {
  const server = await startedServer(t);
  const options = { path: '/down', cwd: PACKAGE, env: { REDIS_URL: server.url } };
  assert.equal((await example('redis.js', options))[0], '503 - out of service');
  await until(async () => {
    const lines = await example('redis.js', options);
    return lines.every((line) => /^503 \d+ \{.*"reason":"open"/.test(line));
  }, 'another process is refused all of its calls');
});

test('the worker of the README is the one that the launcher serves', async () => {
  const main = join(home, 'node_modules/fusewire/workerd/worker.js');
  const workerd = await launch({ main, bindings: { UPSTREAM: upstream.url } });
  assert.equal(await (await fetch(`${workerd.url}/ok`)).text(), 'all is well');
  await workerd.stop();
});

test('the README has the examples as they are', () => {
  const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
  const shown = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  const files = readdirSync(join(PACKAGE, 'examples')).map((file) => join('examples', file));
  const code = [...files, 'workerd/worker.js'].map((f) => readFileSync(join(PACKAGE, f), 'utf8'));
  assert.deepEqual(new Set(shown), new Set(code));
});

test('the package has types for all that it exports', async () => {
  writeFileSync(
    join(home, 'user.ts'),
    `import { Guard, MemoryStore, RefusedError, WatchedStore, guarded, loadPolicy } from 'fusewire';
import type { Event, Fact, Observation, Store, Target, Verdict, Wanted } from 'fusewire';
import { RedisStore } from 'fusewire/redis';

const store: Store = new WatchedStore(new RedisStore('redis://127.0.0.1:1'));
const guard = new Guard({ policy: loadPolicy({ breaker: {} }), store });
const target: Target = { provider: 'p' };
const ask = guarded(fetch, { guard, target: (request) => ({ provider: request.url }) });
const response: Promise<Response> = ask('http://127.0.0.1/', { method: 'POST' });
declare const seen: Observation;
const verdict: Verdict = guard.classify(target, seen);
const wanted: Wanted = guard.wanted(target);
const most: number = wanted.bodyBytes;
const ended: Promise<Verdict | undefined> = response.then((r) => ask.attemptOf(r)?.verdict);
const after: number = new RefusedError({} as never).retryAfterMs;
const own: Store = new MemoryStore(() => 1, { entriesMax: 1_000 });
const json = guarded(fetch, { guard, target: () => target, expect: () => 'json' });
const facts: Promise<Fact[]> = guard.explain('p');
guard.order('p', { mode: 'observe', enforcePercent: 25, who: 'on-call', why: 'a trial', untilMs: 0n });
const limit = guard.admit(target).then(({ limitMs, latencyMs }) => (limitMs ?? 0) - latencyMs);
const until = ({ kind }: Event): bigint => (kind.tag === 'held' ? kind.val : 0n);
export { after, ended, facts, json, limit, most, own, response, until, verdict };
// @ts-expect-error: there is no such kind of media
guarded(fetch, { guard, target: () => target, expect: () => 'music' });
// @ts-expect-error: a target needs a provider
guard.admit({ account: 'a' });
// @ts-expect-error: there is no such option
guarded(fetch, { guard, target: () => target, refused: 'never' });
`,
  );
  const options = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    strict: true,
    noEmit: true,
    types: [],
  };
  const config = { compilerOptions: options, files: ['user.ts'] };
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(PACKAGE, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', home]).catch((error) => assert.fail(error.stdout));
});

test('the build says what is missing when there is no component', async () => {
  const env = { ...process.env, FUSEWIRE_POLICY_WASM: join(home, 'none.wasm') };
  const build = run(process.execPath, [join(PACKAGE, 'scripts/build.js')], { env });
  await assert.rejects(build, ({ code, stderr }) => {
    assert.equal(code, 1);
    assert.match(stderr, /there is no policy component at .*none\.wasm.*cargo build/s);
    return true;
  });
});

test('the lock file names no registry', () => {
  const lock = readFileSync(join(PACKAGE, 'package-lock.json'), 'utf8');
  assert.ok(!/"resolved"/.test(lock));
});
