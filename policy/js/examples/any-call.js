// node examples/any-call.js
import { Guard, loadPolicy } from 'fusewire';

const guard = new Guard({ policy: loadPolicy() });
const target = { provider: 'geocoder', account: 'free-plan', operation: 'reverse' };

const admitted = await guard.admit(target, { limitMs: 4_000 }); // throws a RefusedError
// ... make the call; here it was answered with status 200 ...
const verdict = guard.classify(target, {
  response: { status: 200, headers: [], trailers: [] }, // or failure: 'connect-refused'
  latencyMs: BigInt(Math.round(admitted.latencyMs)),
  nowMs: BigInt(guard.nowMs()),
  idempotent: true,
  deliveredPartial: false,
  expect: 'json',
});
admitted.settle(verdict); // or admitted.drop(), where there is nothing to judge
await guard.settled();
console.log(
  verdict.outcome,
  (await guard.inspect(target)).map(({ domain, phase }) => [domain, phase]),
);
