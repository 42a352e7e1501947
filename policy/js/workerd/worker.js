/**
 * @file A worker that guards an upstream: whatever it is asked, it asks `env.UPSTREAM`, unless the
 * breaker that all workers share knows better.
 */

import { env } from 'cloudflare:workers';
import { Guard, guarded, loadPolicy } from 'fusewire';
import { DurableObjectStore } from 'fusewire/workerd';

export { FusewireStore } from 'fusewire/workerd';

const guard = new Guard({
  policy: loadPolicy(env.POLICY ?? '{}'),
  store: new DurableObjectStore(env.FUSEWIRE),
  patienceMs: 250, // an object may be on another continent
  onEvent: ({ type, ...what }) => type === 'event' && console.log('fusewire:', what),
});

export default {
  /**
   * @param {Request} request
   * @param {unknown} _env
   * @param {{ waitUntil(promise: Promise<unknown>): void }} context
   */
  fetch(request, _env, context) {
    const { pathname, search } = new URL(request.url);
    const ask = guarded(fetch, {
      guard,
      target: ({ url }) => ({ provider: new URL(url).hostname }),
      limitMs: 8_000,
      refused: 'respond',
      waitUntil: (telling) => context.waitUntil(telling),
    });
    return ask(new Request(new URL(pathname + search, env.UPSTREAM), request));
  },
};
