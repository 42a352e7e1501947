/**
 * @file From a policy component to JavaScript, core modules and declarations, by jco.
 */

import { transpileBytes } from '@bytecodealliance/jco-transpile';

/** The only interface that a policy may import. */
const MAY_IMPORT = 'fusewire:policy/keyvalue';

/**
 * What jco makes of a policy.
 *
 * @param {Uint8Array} bytes The component.
 * @returns {Promise<Record<string, Uint8Array>>} Files by their names.
 */
export async function transpile(bytes) {
  const { files, imports } = await transpileBytes(bytes, {
    name: 'policy',
    // Instances are made from modules that the caller hands over, at once: so a trapped one is
    // replaced within the call, and a runtime that compiles at start only can run it.
    instantiation: 'sync',
    base64Cutoff: 0,
    minify: true,
    namespacedExports: false,
    nodejsCompat: false,
    noComponentErrorWrapping: true,
    wasiShim: false,
  });
  const stray = imports.find((name) => name !== MAY_IMPORT);
  if (stray !== undefined) {
    throw new Error(
      `the policy imports \`${stray}\`, and may import nothing but \`${MAY_IMPORT}\``,
    );
  }
  return { ...files, 'policy.js': setRight(files['policy.js']) };
}

/**
 * What is set right in jco's output.
 *
 * @type {Array<[what: RegExp, right: string]>}
 */
const SET_RIGHT = [
  // A decoder drops a byte order mark at the beginning of a text unless it is told not to. A name
  // that begins with one is another name, and must be the same for every runtime.
  [/new TextDecoder(?:\(\))?(?![\w(])/, 'new TextDecoder("utf-8",{ignoreBOM:true})'],
  // It looks into the environment at every step of every call, which takes a third of the time.
  [/globalThis\?\.process\?\.env\?\.JCO_DEBUG/, 'false'],
];

/**
 * @param {Uint8Array} code
 * @returns {Uint8Array}
 */
function setRight(code) {
  let text = new TextDecoder().decode(code);
  for (const [what, right] of SET_RIGHT) {
    const parts = text.split(what);
    if (parts.length !== 2) {
      throw new Error(`jco's output has ${what} ${parts.length - 1} times, and once was expected`);
    }
    text = parts.join(right);
  }
  return new TextEncoder().encode(text);
}
