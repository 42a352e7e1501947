/**
 * @file The fleet's clock: local monotonic time plus a measured offset.
 *
 * Hosts whose own clocks differ must agree on when a cool-down ends, so all of them follow the
 * clock of their Redis. It is not asked at each decision: its offset against this host's monotonic
 * time is measured at each connection and every half a minute. A measurement is only as exact as
 * its round trip is short. An offset that lies within what a new measurement can tell is kept, so
 * the clock does not jitter; one that does not is replaced at once, backwards too.
 */

/**
 * The server's time, as seen from here.
 *
 * @typedef {{ offsetMs: number, withinMs: number }} Sample `offsetMs` is what to add to this host's
 *   time, and `withinMs` how far off that can be to either side: half the round trip.
 */

export class Clock {
  #offsetMs = 0;

  /** The fleet's time, in ms since the Unix epoch. */
  nowMs() {
    return Math.max(0, Math.floor(this.local() + this.#offsetMs));
  }

  /** This host's time, in ms. */
  local() {
    return performance.timeOrigin + performance.now();
  }

  /**
   * What the server's answer tells: it read its clock at some moment between `sent` and `received`,
   * most likely half-way.
   *
   * @param {number} sent
   * @param {number} received
   * @param {number} serverMs
   * @returns {Sample}
   */
  sample(sent, received, serverMs) {
    const withinMs = (received - sent) / 2;
    return { offsetMs: serverMs - sent - withinMs, withinMs };
  }

  /**
   * Follows the most exact of these samples.
   *
   * @param {Sample[]} samples
   * @returns {number} By how much the clock was moved, in ms.
   */
  follow(samples) {
    const [first, ...others] = samples;
    if (!first) {
      return 0;
    }
    const best = others.reduce((a, b) => (b.withinMs < a.withinMs ? b : a), first);
    const step = best.offsetMs - this.#offsetMs;
    if (Math.abs(step) <= best.withinMs) {
      return 0;
    }
    this.#offsetMs = best.offsetMs;
    return step;
  }
}
