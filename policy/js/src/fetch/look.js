/**
 * @file The beginning of a body, as the policy is shown it: kept while it passes, and never more
 * than the policy looks at.
 *
 * @import { Wanted } from '../contract.js'
 */

import { hasNoBody } from '../evidence.js';
import { FirstEvent } from './first-event.js';

/**
 * Content codings that `fetch` decodes, where it knows them at all: for others nobody can say
 * whether what comes is decoded.
 */
const DECODED = /^\s*((x-)?gzip|deflate|br|identity)?\s*$/i;

/** What is set aside at first, in bytes: most answers to look at are short. */
const FIRST_BYTES = 4096;

export class Look {
  #most;
  #bytes;
  #length = 0;
  /** @type {FirstEvent | undefined} Of a stream of events alone. */
  #firstEvent;
  #hasFirstEvent = false;

  /**
   * @param {number} most In bytes.
   * @param {boolean} isEvents Whether the body is a stream of events.
   */
  constructor(most, isEvents) {
    this.#most = most;
    this.#bytes = new Uint8Array(Math.min(most, FIRST_BYTES));
    this.#firstEvent = isEvents ? new FirstEvent() : undefined;
  }

  /**
   * @param {Request} request
   * @param {Response} response
   * @param {Wanted} wanted
   * @returns {Look | undefined} None: there is no body by its kind, or the policy does not look.
   */
  static at({ method }, { status, headers }, { bodyBytes }) {
    const hasNone = method === 'HEAD' || hasNoBody(status);
    const codings = headers.get('content-encoding') ?? '';
    if (hasNone || bodyBytes === 0 || !codings.split(',').every((coding) => DECODED.test(coding))) {
      return undefined;
    }
    return new Look(bodyBytes, /^text\/event-stream\b/i.test(headers.get('content-type') ?? ''));
  }

  /**
   * Takes a copy of what is looked at.
   *
   * @param {Uint8Array} part The next part of the body.
   */
  take(part) {
    const kept = part.subarray(0, this.#most - this.#length);
    const length = this.#length + kept.length;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.#most, length * 2));
      grown.set(this.body);
      this.#bytes = grown;
    }
    this.#bytes.set(kept, this.#length);
    this.#length = length;
    this.#hasFirstEvent ||= this.#firstEvent?.isIn(kept) ?? false;
  }

  /**
   * Whether what has come shows how it stands: of a stream of events the first one, so that what
   * follows is not held back.
   */
  get isEnough() {
    return this.#hasFirstEvent || this.#length === this.#most;
  }

  /** What has come so far. */
  get body() {
    return this.#bytes.subarray(0, this.#length);
  }
}
