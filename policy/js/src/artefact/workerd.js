/**
 * @file The policy that this package was built with, for workerd and Cloudflare: core modules are
 * imported, as these runtimes compile none while they run.
 *
 * @import { Artefact } from '../contract.js'
 */

import { instantiate } from '../../dist/policy/policy.js';
// @ts-ignore: TypeScript knows no declarations for modules of WebAssembly.
import core from '../../dist/policy/policy.core.wasm';
// @ts-ignore
import core2 from '../../dist/policy/policy.core2.wasm';
// @ts-ignore
import core3 from '../../dist/policy/policy.core3.wasm';

/** @type {Record<string, WebAssembly.Module>} */
const modules = {
  'policy.core.wasm': core,
  'policy.core2.wasm': core2,
  'policy.core3.wasm': core3,
};

/** @type {Artefact} */
export const builtIn = { instantiate, module: (name) => modules[name] };
