/**
 * @file A digest of a request, the same for equal requests wherever they are made, so that one
 * poisonous request is not taken for many failures.
 */

/** How much of a body is looked at, in bytes: what differs in no more than its end is the same. */
const BODY_MAX_BYTES = 64 * 1024;

const utf8 = new TextEncoder();

/**
 * The digest of the method, the URL and the body.
 *
 * @param {Request} request
 * @param {BodyInit | null | undefined} body What the request was made with.
 * @returns {bigint | undefined} None: it has a body that cannot be looked at without taking it away,
 *   so nobody knows whether it is equal to another.
 */
export function fingerprintOf({ method, url, body: stream }, body) {
  const head = utf8.encode(`${method} ${url}\n`);
  if (!stream) {
    return digest([head]);
  }
  const bytes = bytesOf(body);
  return bytes && digest([head, bytes.subarray(0, BODY_MAX_BYTES)]);
}

/**
 * @param {unknown} body
 * @returns {Uint8Array | undefined}
 */
function bytesOf(body) {
  if (typeof body === 'string' || body instanceof URLSearchParams) {
    return utf8.encode(String(body));
  }
  if (body instanceof ArrayBuffer) {
    return new Uint8Array(body);
  }
  return ArrayBuffer.isView(body)
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
    : undefined;
}

/**
 * FNV-1a of 64 bits, in two halves: JavaScript multiplies 64 bits only where it makes a `bigint` for
 * each step.
 *
 * @param {Uint8Array[]} parts
 * @returns {bigint}
 */
function digest(parts) {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (const part of parts) {
    for (const byte of part) {
      low = (low ^ byte) >>> 0;
      // Times 2^40 + 0x1b3. What is multiplied has 41 bits at the most, which a double holds.
      const product = low * 0x1b3;
      high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) >>> 0;
      low = product >>> 0;
    }
  }
  return (BigInt(high) << 32n) | BigInt(low);
}
