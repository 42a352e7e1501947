import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FirstEvent } from '../src/fetch/first-event.js';
import { Look } from '../src/fetch/look.js';
import { Source } from '../src/fetch/source.js';

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);

for (const [text, rest] of [
  ['data: one\n\n', 'data: two\n\n'],
  ['data: one\r\n\r', '\ndata: two'],
  ['data\r\r', ''],
  ['\uFEFFdata: one\n\n', 'x'],
  [': wait\n\n\nretry: 9\n\nevent: a\ndata: {\ndata: }\n\n', ': x\n\n'],
  ['dataset: no\n\ndata:yes\n\n', ''],
]) {
  test(`the first event of a stream is over after ${JSON.stringify(text)}, however it comes`, () => {
    for (const size of [1, 2, 3, 1000]) {
      const first = new FirstEvent();
      const whole = bytes(text + rest);
      let seen = 0;
      while (seen < whole.length) {
        const part = whole.subarray(seen, seen + size);
        seen += part.length;
        if (first.isIn(part)) {
          break;
        }
      }
      const ends = bytes(text).length;
      assert.ok(seen >= ends && seen < ends + size, `${seen} with parts of ${size}`);
    }
  });
}

test('a stream that has nothing but comments has no first event', () => {
  assert.equal(new FirstEvent().isIn(bytes(': a\n\n: b\r\n\r\nid: 1\n\nevent: x\n\n')), false);
});

/** What is looked at. @param {RequestInit} request @param {ResponseInit & { body?: any }} response */
function at(request, { body = null, ...response }, bodyBytes = 100) {
  const wanted = { bodyBytes, trailers: false };
  return Look.at(new Request('http://p/', request), new Response(body, response), wanted);
}

test('a body is looked at where there can be one, and where a rule asks for it', () => {
  assert.ok(at({}, { status: 200 }));
  assert.ok(at({}, { status: 503 }));
  assert.equal(at({}, { status: 200 }, 0), undefined);
  assert.equal(at({ method: 'HEAD' }, { status: 200 }), undefined);
  assert.equal(at({}, { status: 204 }), undefined);
  assert.equal(at({}, { status: 304 }), undefined);
  assert.ok(at({}, { headers: { 'content-encoding': 'gzip, BR' } }));
  assert.equal(at({}, { headers: { 'content-encoding': 'dcb' } }), undefined);
});

test('no more is kept than is looked at, and nothing is lost on the way', async () => {
  let made = 0;
  const endless = new ReadableStream(
    {
      pull(controller) {
        controller.enqueue(new Uint8Array(10_000).fill(made));
        made += 1;
      },
    },
    { highWaterMark: 0 },
  );
  const look = new Look(25_000, false);
  const source = new Source(endless, look);
  await source.lookAhead();
  assert.equal(made, 3);
  assert.equal(source.hasEnded, false);
  assert.equal(look.body.length, 25_000);
  assert.equal(look.body[24_999], 2);
  for (const part of [0, 1, 2, 3]) {
    assert.deepEqual(await source.next(), new Uint8Array(10_000).fill(part));
  }
  assert.equal(look.body.length, 25_000);
});

test('what was looked at stays as it was when the reader changes what it got', async () => {
  const look = new Look(10, false);
  const source = new Source(/** @type {any} */ (new Response('abc').body), look);
  await source.lookAhead();
  (await source.next())?.fill(0);
  assert.deepEqual(look.body, bytes('abc'));
  assert.equal(source.hasEnded, true);
  assert.equal(await source.next(), undefined);
});
