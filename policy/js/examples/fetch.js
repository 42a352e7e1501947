// node examples/fetch.js http://127.0.0.1:8080/
import { RefusedError, guarded, loadPolicy } from 'fusewire';

const guardedFetch = guarded(fetch, {
  policy: loadPolicy({ breaker: { failures: { count: 5, window: '60s' } } }),
  target: (request) => ({ provider: new URL(request.url).hostname }),
  limitMs: 8_000,
  onEvent: (notice) => notice.type === 'event' && console.log(`event: ${notice.event.detail}`),
});

for (let call = 1; call <= 7; call += 1) {
  try {
    const response = await guardedFetch(process.argv[2]);
    console.log(response.status, await response.text());
  } catch (error) {
    if (!(error instanceof RefusedError)) {
      throw error;
    }
    console.log(`not now (${error.reason}): ask again in ${error.retryAfterMs} ms`);
  }
}
