/**
 * @file The policy that this package was built with, for Node: core modules are files.
 *
 * @import { Artefact } from '../contract.js'
 */

import { readFileSync } from 'node:fs';

import { instantiate } from '../../dist/policy/policy.js';

/** @type {Map<string, WebAssembly.Module>} */
const compiled = new Map();

/** @type {Artefact} */
export const builtIn = {
  instantiate,
  module(name) {
    let module = compiled.get(name);
    if (!module) {
      const url = new URL(`../../dist/policy/${name}`, import.meta.url);
      module = new WebAssembly.Module(readFileSync(url));
      compiled.set(name, module);
    }
    return module;
  },
};
