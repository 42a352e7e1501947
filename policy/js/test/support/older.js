/**
 * @file The shipped policy as one that was built before the contract knew `evidence`: a copy with
 * that interface under another name, and the names of the others in the contract's first version.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { transpile } from '../../scripts/transpile.js';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const COMPONENT = process.env.FUSEWIRE_POLICY_WASM ?? join(ROOT, 'target/fusewire_policy.wasm');

/** @returns {Promise<import('../../src/contract.js').Artefact>} */
export async function older() {
  const files = await transpile(renamed(readFileSync(COMPONENT)));
  const code = Buffer.from(files['policy.js']).toString('base64');
  const { instantiate } = await import(`data:text/javascript;base64,${code}`);
  return {
    instantiate,
    module: (name) => new WebAssembly.Module(Uint8Array.from(files[name])),
  };
}

/**
 * Names of the same length, so that no size in the component changes.
 *
 * @param {Buffer} component
 */
function renamed(component) {
  const names = component.toString('latin1');
  return Buffer.from(
    names
      .replaceAll(/(fusewire:policy\/[a-z]+@0\.1)\.\d/g, '$1.0')
      .replaceAll('fusewire:policy/evidence', 'fusewire:policy/audience'),
    'latin1',
  );
}
