/**
 * @file Values of the contract, as JSON has them on the wire and as jco has them.
 *
 * | contract | JSON | jco |
 * |---|---|---|
 * | record | names in kebab case | names in camel case |
 * | option | null | undefined |
 * | variant | "case", or {"case": payload} | {tag, val} |
 * | u64 | an integer with all its digits | bigint |
 * | list<u8> | a list of numbers | Uint8Array, or a list of numbers |
 *
 * Nothing here knows any record: what is told apart is told apart by its form.
 */

import { parse as parseLossless, stringify } from 'lossless-json';

/**
 * Reads a JSON text. An integer that a double does not hold is a bigint.
 *
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  return parseLossless(text, undefined, (digits) => {
    const number = Number(digits);
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(digits) ? number : BigInt(digits);
  });
}

/**
 * Writes a value of jco's as a JSON text.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function print(value) {
  return /** @type {string} */ (stringify(toWire(value)));
}

/**
 * A value of the wire as jco wants it. Variants are not for this: their form is that of enums and
 * records.
 *
 * @param {any} value
 * @returns {any}
 */
export function fromWire(value) {
  if (value === null) {
    return undefined;
  }
  if (Array.isArray(value)) {
    return value.map(fromWire);
  }
  if (typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [camel(name), fromWire(field)]),
    );
  }
  return value;
}

/**
 * A variant of the wire as jco wants it.
 *
 * @param {any} value
 * @returns {{ tag: string, val?: any }}
 */
export function variantFromWire(value) {
  if (typeof value === 'string') {
    return { tag: value };
  }
  const [[tag, payload]] = Object.entries(value);
  return { tag, val: fromWire(payload) };
}

/**
 * @param {any} value
 * @returns {any}
 */
function toWire(value) {
  if (value === undefined) {
    return null;
  }
  if (value instanceof Uint8Array || Array.isArray(value)) {
    return Array.from(/** @type {any[]} */ (value), toWire);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (typeof value.tag === 'string') {
    return 'val' in value ? { [value.tag]: toWire(value.val) } : value.tag;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [kebab(name), toWire(field)]),
  );
}

/** @param {string} name */
function camel(name) {
  return name.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} name */
function kebab(name) {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
