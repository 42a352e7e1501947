/**
 * @file Fusewire in Node.
 *
 * | module | subject |
 * |---|---|
 * | policy.js | the component: loading, configuring, instances |
 * | tape.js | the store as one call sees it: answers so far, and the one that is awaited |
 * | ask.js | calls the policy again until its store has answered everything |
 * | guard.js | one call: admit, classify, settle |
 * | evidence.js | what the policy looks at, and observations cut to that |
 * | fetch/ | the same around `fetch` |
 * | store/ | the rules of every store; in memory; a time limit and a breaker around any |
 * | redis/ | a store on Redis, as `fusewire/redis` |
 * | workerd/ | a store on Durable Objects, as `fusewire/workerd` |
 * | artefact/ | how each runtime has the core modules |
 * | contract.js | the types of `wit/` |
 *
 * No rule of the policy is in here: those are in the component.
 */

import { builtIn } from './artefact/node.js';
import { Policy } from './policy.js';

export * from './common.js';

/**
 * The policy that this package was built with.
 *
 * @param {import('./policy.js').Configuration} [configuration]
 * @returns {Policy}
 * @throws {import('./policy.js').ConfigurationError}
 */
export function loadPolicy(configuration) {
  return Policy.load(builtIn, configuration);
}
