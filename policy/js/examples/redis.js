// REDIS_URL=redis://127.0.0.1:6379 node examples/redis.js http://127.0.0.1:8080/
import { WatchedStore, guarded, loadPolicy } from 'fusewire';
import { RedisStore } from 'fusewire/redis';

const redis = await RedisStore.connect(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const guardedFetch = guarded(fetch, {
  policy: loadPolicy({ breaker: { failures: { count: 5, window: '60s' } } }),
  store: new WatchedStore(redis, {
    limitMs: 50,
    onChange: (mode, why) => console.log(`the store is ${mode}: ${why}`),
  }),
  target: (request) => ({ provider: new URL(request.url).hostname }),
  refused: 'respond',
});

for (let call = 1; call <= 7; call += 1) {
  const response = await guardedFetch(process.argv[2]);
  console.log(response.status, response.headers.get('retry-after') ?? '-', await response.text());
  await guardedFetch.guard.settled(); // not needed: here the next call is to know of this one
}
redis.close();
