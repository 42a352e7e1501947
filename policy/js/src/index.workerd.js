/**
 * @file Fusewire in workerd and on Cloudflare. `index.js` has the map of the rooms.
 */

import { builtIn } from './artefact/workerd.js';
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
