import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { until } from './support/until.js';
import { PLACES, Upstream } from './support/upstream.js';

const SERVE = fileURLToPath(new URL('../workerd/serve.js', import.meta.url));
const POLICY = {
  breaker: {
    failures: { count: 3 },
    'cool-down': { first: '1s', jitter: 0 },
    probes: { needed: 1 },
  },
};

/** @type {Upstream} */
let upstream;
/** @type {string} */
let storage;
before(async () => {
  upstream = await Upstream.start();
  storage = mkdtempSync(join(tmpdir(), 'fusewire-objects-'));
});
after(async () => {
  await upstream.stop();
  rmSync(storage, { recursive: true, force: true });
});

/** Starts the launcher as a user would. @param {string[]} more */
async function serve(...more) {
  const args = [SERVE, '--upstream', upstream.url, '--policy', JSON.stringify(POLICY), ...more];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve) => {
    lines.on('line', (line) => {
      const said = /^listening on (.*)$/.exec(line);
      if (said) {
        resolve(said[1]);
      }
    });
  });
  return { url, child, ended };
}

test('workers share a breaker in Durable Objects, which outlives them', async () => {
  let worker = await serve('--storage', storage);
  const ask = (/** @type {string} */ path) => fetch(worker.url + path);

  assert.equal(await (await ask('/ok')).text(), 'all is well');
  for (let calls = 0; calls < 3; calls += 1) {
    assert.equal(await (await ask('/down')).text(), 'out of service');
  }
  // Outcomes are told off the caller's path.
  const refused = await until(async () => {
    const response = await ask('/ok');
    const body = await response.text();
    return response.status === 503 && JSON.parse(body);
  }, 'a call is refused');
  assert.deepEqual([refused.reason, refused.domain], ['open', '127.0.0.1']);

  worker.child.kill('SIGTERM');
  await worker.ended;
  worker = await serve('--storage', storage);
  upstream.seen.clear();
  const probe = await until(async () => {
    const response = await ask('/ok');
    await response.text();
    return response.status === 200;
  }, 'the cool-down is over, and the probe went through');
  assert.ok(probe);
  assert.equal(upstream.seen.get('/ok'), 1, 'the breaker was still open after the restart');

  worker.child.stdin.end();
  assert.equal(await worker.ended, 0, 'it ends with its input');
});

test('a reset connection and a body that breaks off are failures in workerd too', async () => {
  const worker = await serve();
  for (const path of ['/reset', '/break', '/reset']) {
    await fetch(worker.url + path)
      .then((response) => response.text())
      .catch(() => {});
  }
  await until(async () => {
    const response = await fetch(`${worker.url}/ok`);
    await response.text();
    return response.status === 503;
  }, 'the breaker is open');
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test('calls that hang open the breaker in workerd too, while they are under way', async () => {
  // The calls below that ask whether it is open are good, and many.
  const breaker = { ...POLICY.breaker, 'slow-ratio': { share: 0.01, minimum: 2 } };
  const worker = await serve('--policy', JSON.stringify({ slow: '100ms', breaker }));
  let ended = 0;
  const hanging = [1, 2].map(() =>
    fetch(`${worker.url}/hang`)
      .catch(() => {}) // as the upstream hangs up below
      .finally(() => (ended += 1)),
  );
  await until(async () => {
    const response = await fetch(`${worker.url}/ok`);
    return (await response.text()).includes('slow-ratio');
  }, 'the breaker is open');
  assert.equal(ended, 0);
  upstream.hangUp();
  await Promise.all(hanging);
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test('an error in an answer 200 is a failure in workerd too, and a good answer comes whole', async () => {
  const policy = { ...POLICY, profile: 'arcgis' };
  const worker = await serve('--policy', JSON.stringify(policy));
  assert.equal(await (await fetch(`${worker.url}/places`)).text(), PLACES);
  for (let calls = 0; calls < 3; calls += 1) {
    const response = await fetch(`${worker.url}/arcgis-error`);
    assert.equal((await response.json()).error.code, 500);
  }
  await until(async () => {
    const response = await fetch(`${worker.url}/ok`);
    await response.text();
    return response.status === 503;
  }, 'the breaker is open');
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test('a workerd does not outlive a launcher that is killed', async () => {
  const worker = await serve();
  worker.child.kill('SIGKILL');
  await worker.ended;
  await until(
    () =>
      fetch(worker.url).then(
        () => false,
        () => true,
      ),
    'nobody listens there',
  );
});
