/**
 * @file The shipped policy with one of its exports made to trap: the body of that function in the
 * core module is replaced by `unreachable`.
 */

import { readFileSync } from 'node:fs';

import { instantiate } from '../../dist/policy/policy.js';

const DIST = new URL('../../dist/policy/', import.meta.url);

/** Section ids and the kind of a function, by the WebAssembly specification. */
const IMPORTS = 2;
const EXPORTS = 7;
const CODE = 10;
const FUNCTION = 0;
/** No locals, `unreachable`, `end`. */
const UNREACHABLE = [0x00, 0x00, 0x0b];

/**
 * @param {string} name The export, such as `classifier#classify`.
 * @returns {import('../../src/contract.js').Artefact}
 */
export function trapping(name) {
  return {
    instantiate,
    module: (file) => {
      const bytes = readFileSync(new URL(file, DIST));
      return new WebAssembly.Module(file === 'policy.core.wasm' ? replaceBody(bytes, name) : bytes);
    },
  };
}

/**
 * @param {Uint8Array} module
 * @param {string} name
 * @returns {Uint8Array<ArrayBuffer>}
 */
function replaceBody(module, name) {
  const sections = sectionsOf(module);
  const find = (/** @type {number} */ id) => {
    const section = sections.find((one) => one.id === id);
    if (!section) {
      throw new Error(`the core module has no section ${id}`);
    }
    return section;
  };
  const index = exported(find(EXPORTS).body, name) - importedFunctions(find(IMPORTS).body);
  const code = find(CODE);
  code.body = withBody(code.body, index);
  const whole = sections.flatMap(({ id, body }) => [id, ...leb(body.length), ...body]);
  return Uint8Array.from([...module.subarray(0, 8), ...whole]);
}

/** @param {Uint8Array} module */
function sectionsOf(module) {
  const sections = [];
  const at = new Reader(module.subarray(8));
  while (!at.isOver) {
    const id = at.byte();
    sections.push({ id, body: at.bytes(at.number()) });
  }
  return sections;
}

/**
 * @param {Uint8Array} body
 * @param {string} name
 */
function exported(body, name) {
  const at = new Reader(body);
  for (let left = at.number(); left > 0; left -= 1) {
    const found = new TextDecoder().decode(at.bytes(at.number()));
    const kind = at.byte();
    const index = at.number();
    // Whatever the version of the contract.
    if (found.replace(/^fusewire:policy\/([a-z]+)@[\d.]+/, '$1') === name && kind === FUNCTION) {
      return index;
    }
  }
  throw new Error(`the core module does not export ${name}`);
}

/** @param {Uint8Array} body */
function importedFunctions(body) {
  const at = new Reader(body);
  const count = at.number();
  for (let left = count; left > 0; left -= 1) {
    at.bytes(at.number());
    at.bytes(at.number());
    if (at.byte() !== FUNCTION) {
      throw new Error('the core module imports more than functions');
    }
    at.number();
  }
  return count;
}

/**
 * @param {Uint8Array} body
 * @param {number} index
 */
function withBody(body, index) {
  const at = new Reader(body);
  const count = at.number();
  const bodies = Array.from({ length: count }, () => at.bytes(at.number()));
  const made = bodies.flatMap((one, i) => {
    const kept = i === index ? UNREACHABLE : one;
    return [...leb(kept.length), ...kept];
  });
  return Uint8Array.from([...leb(count), ...made]);
}

/** @param {number} value */
function leb(value) {
  const bytes = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>>= 7;
  } while (value > 0);
  return bytes;
}

class Reader {
  #bytes;
  #at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
  }

  get isOver() {
    return this.#at >= this.#bytes.length;
  }

  byte() {
    const byte = this.#bytes[this.#at];
    this.#at += 1;
    return byte;
  }

  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        return value >>> 0;
      }
    }
  }

  /** @param {number} length */
  bytes(length) {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
