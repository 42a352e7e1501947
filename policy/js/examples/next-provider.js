// node examples/next-provider.js http://127.0.0.1:8080/google http://127.0.0.1:8080/other
import { setTimeout } from 'node:timers/promises';
import { guarded, loadPolicy } from 'fusewire';

const [google, nominatim] = process.argv.slice(2);
const providers = Object.entries({ google, nominatim });
const ask = guarded(fetch, {
  // Google says in the body of a 200 that it does not answer. Its profile knows.
  policy: loadPolicy({ providers: { google: { profile: 'google-geocoding' } } }),
  target: ({ url }) => ({ provider: url.startsWith(google) ? 'google' : 'nominatim' }),
});

async function geocode() {
  let attemptsInAll = 0;
  for (const [i, [provider, url]] of providers.entries()) {
    for (let attempts = 1; ; attempts += 1) {
      const ended = await ask(url).catch((error) => error);
      const attempt = ask.attemptOf(ended);
      if (!attempt) {
        break; // the breaker refused it
      }
      const { verdict, isProbe: probe } = attempt;
      if (!verdict) {
        return ended; // good so far
      }
      attemptsInAll += 1;
      const providersLeft = providers.length - i - 1;
      const progress = { target: { provider }, attempts, attemptsInAll, providersLeft, probe };
      const step = await ask.guard.next(progress, verdict);
      console.log(`${provider}: ${verdict.reason}: ${step.tag}`);
      if (step.tag === 'retry') {
        await setTimeout(Number(step.val));
      } else if (step.tag === 'next-provider') {
        break;
      } else {
        return ended; // it is done, or there is no use in going on
      }
    }
  }
  throw new Error('every provider is refused by its breaker');
}

console.log(await (await geocode()).text());
