/**
 * @file The one connection to Redis, and what brings it back.
 *
 * All calls share one connection, and their commands follow each other on it without waiting. While
 * there is none, an operation fails at once: nothing queues up for a server that is away. The
 * client connects again by itself. A server that hangs, or a network that swallows packets, closes
 * no connection; so one on which an answer fails to come is given up here, and so is one to a
 * server that takes no writes: a new connection may lead to a better one.
 */

import { RESP_TYPES, createClient } from 'redis';

import { Clock } from './clock.js';
import { isReadOnly } from './errors.js';

/** How long connecting may take, in ms. */
const CONNECT_MS = 1_000;
/**
 * How long an answer may take before the connection is given up, in ms. The limit within which a
 * store must answer to be of use is `WatchedStore`'s, and shorter.
 */
const ANSWER_MS = 1_000;
/** How often that is looked at, in ms. */
const LOOK_EVERY_MS = 250;
/** The pause before connecting again, in ms, and what it doubles up to. */
const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1_000;
/** How often the clock is measured, in ms. A bad quartz drifts 100 ppm: 3 ms in this time. */
const MEASURE_EVERY_MS = 30_000;
/** How many samples a measurement takes: one may meet a slow moment, four seldom do. */
const SAMPLES = 4;

/** @typedef {import('./scripts.js').Command} Command */

export class Link {
  #url;
  #onError;
  #client;
  /** @type {ReturnType<typeof setInterval>[]} */
  #timers;
  /** Commands that are not answered, and since when nothing was, while there are any. */
  #inFlight = 0;
  #silentSince = 0;
  #isClosed = false;
  /** Where the server is, without the credentials. */
  address;
  clock = new Clock();

  /**
   * @param {string} url
   * @param {(error: Error) => void} onError
   */
  constructor(url, onError) {
    this.#url = url;
    this.#onError = onError;
    this.address = addressOf(url);
    this.#client = this.#open();
    this.#timers = [
      setInterval(() => this.#look(), LOOK_EVERY_MS),
      setInterval(() => this.#measure(), MEASURE_EVERY_MS),
    ];
    this.#timers.forEach((timer) => timer.unref());
  }

  /** Whether there is a connection at this moment. */
  get isUp() {
    return this.#client.isReady;
  }

  /**
   * Sends a command.
   *
   * @param {Command} command
   * @returns {Promise<any>}
   */
  async send(command) {
    if (this.#inFlight === 0) {
      this.#silentSince = performance.now();
    }
    this.#inFlight += 1;
    try {
      return await this.#client.sendCommand(command);
    } catch (error) {
      if (isReadOnly(error)) {
        this.#leave('it is a replica, which takes no writes');
      }
      throw error;
    } finally {
      this.#inFlight -= 1;
      this.#silentSince = performance.now();
    }
  }

  /** Waits until the first attempt to connect has ended, either way. */
  async tried() {
    await new Promise((resolve) => {
      this.#client.once('ready', resolve).once('error', resolve);
    });
    await this.#measure();
  }

  /** Closes the connection for good. Commands that are not answered fail. */
  close() {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#timers.forEach((timer) => clearInterval(timer));
    this.#client.destroy();
  }

  #open() {
    const client = createClient({
      url: this.#url,
      RESP: 2,
      disableOfflineQueue: true,
      socket: {
        connectTimeout: CONNECT_MS,
        reconnectStrategy: (retries) => Math.min(PAUSE_MIN_MS * 2 ** retries, PAUSE_MAX_MS),
      },
      // Values are bytes; and the client's way to read a number is inexact just below 2^53.
      commandOptions: {
        typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String },
      },
    });
    client.on('error', (error) => this.#onError(error));
    client.on('ready', () => this.#greet());
    // Errors are told by the event, and the client tries again by itself.
    client.connect().catch(() => {});
    return client;
  }

  /** Gives a connection up on which an answer fails to come. */
  #look() {
    if (this.#inFlight > 0 && performance.now() - this.#silentSince > ANSWER_MS) {
      this.#leave(`no answer within ${ANSWER_MS} ms`);
    }
  }

  /**
   * Gives the connection up, and makes another after a pause.
   *
   * @param {string} why
   */
  #leave(why) {
    const left = this.#client;
    if (this.#isClosed || !left.isOpen) {
      return;
    }
    this.#onError(new Error(`the connection to ${this.address} is given up: ${why}`));
    left.destroy();
    setTimeout(() => {
      if (!this.#isClosed) {
        this.#client = this.#open();
      }
    }, PAUSE_MAX_MS / 4);
  }

  /** Looks at a server that has just been connected to. */
  async #greet() {
    await this.#measure();
    const role = await this.#tells(['ROLE']);
    // A server that does not tell its role, as not everyone may ask, is taken as it is.
    if (role && String(role[0]) !== 'master') {
      this.#leave(`it is a ${role[0]}, which takes no writes`);
    }
  }

  /** Measures the server's clock. Where it does not tell its time, the clock stays as it is. */
  async #measure() {
    const samples = [];
    while (samples.length < SAMPLES) {
      const sent = this.clock.local();
      const time = await this.#tells(['TIME']);
      if (!time) {
        break;
      }
      const serverMs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000;
      samples.push(this.clock.sample(sent, this.clock.local(), serverMs));
    }
    this.clock.follow(samples);
  }

  /**
   * @param {Command} command
   * @returns {Promise<any[] | undefined>} Nothing where it does not tell.
   */
  async #tells(command) {
    try {
      return await this.send(command);
    } catch {
      return undefined;
    }
  }
}

/** @param {string} url */
function addressOf(url) {
  try {
    return new URL(url).host;
  } catch {
    // The URL may hold a password, so no message has it in it.
    throw new TypeError('this is no URL of a Redis; a right one looks like redis://host:6379/0');
  }
}
