/**
 * @file The shipped policy as one that was built for an earlier version of the contract: a copy in
 * which what came later has another name, and the rest the names of that version.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { transpile } from '../../scripts/transpile.js';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const COMPONENT = process.env.FUSEWIRE_POLICY_WASM ?? join(ROOT, 'target/fusewire_policy.wasm');

/**
 * What came later, and another name of the same length, so that no size in the component changes.
 *
 * @type {Record<string, Record<string, string>>}
 */
const LATER = {
  '0.1.0': { evidence: 'audience', attempts: 'journeys', operator: 'director' },
  '0.1.1': { attempts: 'journeys', operator: 'director' },
};

/**
 * @param {'0.1.0' | '0.1.1'} version
 * @returns {Promise<import('../../src/contract.js').Artefact>}
 */
export async function older(version) {
  const files = await transpile(renamed(readFileSync(COMPONENT), version));
  const code = Buffer.from(files['policy.js']).toString('base64');
  const { instantiate } = await import(`data:text/javascript;base64,${code}`);
  return {
    instantiate,
    module: (name) => new WebAssembly.Module(Uint8Array.from(files[name])),
  };
}

/**
 * @param {Buffer} component
 * @param {string} version
 */
function renamed(component, version) {
  const names = component.toString('latin1');
  const asThen = names.replaceAll(
    /(fusewire:policy\/)([a-z]+)(@\d\.\d\.\d)?/g,
    (_, space, name, itsVersion) =>
      space + (LATER[version][name] ?? name) + (itsVersion ? `@${version}` : ''),
  );
  return Buffer.from(asThen, 'latin1');
}
