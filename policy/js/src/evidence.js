/**
 * @file What a policy looks at, asked once for each provider, and observations cut to that.
 *
 * @import { Media, Observation, Target, Wanted } from './contract.js'
 * @import { Policy } from './policy.js'
 */

/** The most of a body that a policy is shown, in bytes, whatever it asks for. */
const BODY_MAX_BYTES = 64 * 1024;
/**
 * The least of a body that is shown where the caller said what it can use, in bytes: as much tells
 * an image from a page with an error.
 */
const EXPECTED_MIN_BYTES = 512;
/** How many providers are remembered: where each host is one there is no end of them. */
const PROVIDERS_MAX = 1024;

export class Evidence {
  #policy;
  /** The configuration that the answers are of. */
  #configuration = '';
  /** @type {Map<string, Wanted>} By the provider. */
  #known = new Map();

  /** @param {Policy} policy */
  constructor(policy) {
    this.#policy = policy;
  }

  /**
   * @param {Target} target
   * @param {Media} expect What the caller said that it can use.
   * @returns {Wanted}
   * @throws {import('./fault.js').Fault}
   */
  wanted(target, expect) {
    const wanted = this.#of(target);
    return expect === 'any' || wanted.bodyBytes >= EXPECTED_MIN_BYTES
      ? wanted
      : { ...wanted, bodyBytes: EXPECTED_MIN_BYTES };
  }

  /** @param {Target} target */
  #of(target) {
    if (this.#configuration !== this.#policy.configuration) {
      this.#configuration = this.#policy.configuration;
      this.#known.clear();
    }
    const known = this.#known.get(target.provider);
    if (known) {
      return known;
    }
    const { bodyBytes, ...others } = this.#policy.wanted(target);
    const wanted = { ...others, bodyBytes: Math.min(bodyBytes, BODY_MAX_BYTES) };
    if (this.#known.size >= PROVIDERS_MAX) {
      this.#known.clear();
    }
    this.#known.set(target.provider, wanted);
    return wanted;
  }
}

/**
 * Whether an answer with this status has no body by its kind (RFC 9110, section 6.4.1), which is not
 * the same as an empty one. Neither has an answer to `HEAD`.
 *
 * @param {number} status
 */
export function hasNoBody(status) {
  return status < 200 || status === 204 || status === 304;
}

/**
 * An observation without what nobody looks at: crossing the component's boundary costs more than
 * leaving it away.
 *
 * @param {Observation} observation
 * @param {Wanted} wanted
 * @returns {Observation}
 */
export function cut(observation, { bodyBytes, headers }) {
  const { response } = observation;
  if (!response) {
    return observation;
  }
  const isShown = bodyBytes > 0 && !hasNoBody(response.status);
  return {
    ...observation,
    response: {
      ...response,
      headers: headers
        ? response.headers.filter(({ name }) => headers.includes(name.toLowerCase()))
        : response.headers,
      body: isShown ? response.body?.slice(0, bodyBytes) : undefined,
    },
  };
}
