/**
 * @file From an error of `fetch` to the contract's name for it.
 *
 * `fetch` hides what failed in the `cause` of a `TypeError`, so the chain is walked from the
 * outside in and the first link that says something decides. In Node the links have codes. workerd
 * has none for its errors, and their words are all there is.
 *
 * @import { TransportFailure } from '../contract.js'
 */

/** The code for a connection that was closed in good order, which a reset is not. */
const CLOSED = 'UND_ERR_SOCKET';

/** @type {Record<string, TransportFailure>} */
const CODES = {
  ENOTFOUND: 'dns-not-found',
  ECONNREFUSED: 'connect-refused',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  ENETUNREACH: 'network-unreachable',
  EHOSTUNREACH: 'network-unreachable',
  ENETDOWN: 'network-unreachable',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  [CLOSED]: 'reset',
  UND_ERR_HEADERS_TIMEOUT: 'read-timeout',
  UND_ERR_BODY_TIMEOUT: 'read-timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'incomplete-body',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_INVALID_ARG: 'invalid-request',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'invalid-request',
  EADDRNOTAVAIL: 'local-resources',
  EMFILE: 'local-resources',
  ENFILE: 'local-resources',
  EPROTO: 'tls-handshake',
  CERT_HAS_EXPIRED: 'tls-certificate',
  CERT_NOT_YET_VALID: 'tls-certificate',
  CERT_REVOKED: 'tls-certificate',
  CERT_UNTRUSTED: 'tls-certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls-certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls-certificate',
  UNABLE_TO_GET_ISSUER_CERT: 'tls-certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls-certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls-certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls-certificate',
  Z_DATA_ERROR: 'content-decoding',
  Z_BUF_ERROR: 'content-decoding',
};

/** @type {Array<[RegExp, TransportFailure]>} */
const CODES_LIKE = [
  [/^EAI_/, 'dns-temporary'],
  [/^ERR_SSL_|^ERR_TLS_/, 'tls-handshake'],
  [/^HPE_/, 'protocol'],
  [/^ERR_+(BROTLI|FORMAT)/i, 'content-decoding'],
];

/** @type {Array<[RegExp, TransportFailure]>} */
const WORDS = [
  [/redirect count exceeded|too many redirects/i, 'too-many-redirects'],
  [/unknown scheme|Fetch API cannot load/i, 'invalid-request'],
  // Whatever happens to a connection in workerd has the first of these.
  [/network connection lost/i, 'reset'],
  [/DNS lookup failed/i, 'dns-not-found'],
  [/certificate is not trusted/i, 'tls-certificate'],
];

/**
 * What these mean where the answer had begun.
 *
 * @type {Partial<Record<TransportFailure, TransportFailure>>}
 */
const MID_BODY = { reset: 'reset-mid-body', other: 'reset-mid-body' };

/**
 * @param {unknown} error What `fetch` or the body of its answer failed with.
 * @param {boolean} midBody Whether the answer had begun.
 * @returns {{ failure: TransportFailure, cause: string }}
 */
export function failureOf(error, midBody) {
  const links = [...chain(error)];
  const found = links.map(ofLink).find((failure) => failure !== undefined) ?? 'other';
  const isClosed = links.some((link) => /** @type {any} */ (link).code === CLOSED);
  const failure = !midBody ? found : isClosed ? 'incomplete-body' : (MID_BODY[found] ?? found);
  const innermost = /** @type {any} */ (links.at(-1));
  return { failure, cause: String(innermost?.message || innermost?.code || innermost) };
}

/**
 * The errors inside an error, from the outside in. Where several addresses were tried, the last
 * one's stands for all.
 *
 * @param {unknown} error
 * @returns {Iterable<unknown>}
 */
function* chain(error) {
  for (let depth = 0; error !== undefined && error !== null && depth < 8; depth += 1) {
    yield error;
    error =
      error instanceof AggregateError ? error.errors.at(-1) : /** @type {any} */ (error).cause;
  }
}

/**
 * What one link of the chain says, if anything.
 *
 * @param {any} link
 * @returns {TransportFailure | undefined}
 */
function ofLink({ code, syscall, message }) {
  if (code === 'ETIMEDOUT') {
    // Unless it was being made, the kernel gave up a connection that there was.
    return syscall === 'connect' ? 'connect-timeout' : 'reset';
  }
  if (typeof code === 'string') {
    return CODES[code] ?? CODES_LIKE.find(([like]) => like.test(code))?.[1];
  }
  return WORDS.find(([words]) => words.test(message))?.[1];
}
