/**
 * @file Plays scenarios in workerd, on Durable Objects: each `POST /drive` has one request of the
 * protocol as its body and is answered with one answer. Test support, and not in the package.
 */

import { env } from 'cloudflare:workers';
import { loadPolicy } from 'fusewire';
import { Driver } from 'fusewire/drive/driver.js';
import { DurableObjectStore, FusewireStore as Shipped } from 'fusewire/workerd';

/** The object that is shipped, which also tells what it holds. */
export class FusewireStore extends Shipped {
  /** @type {any} */
  #storage;

  /**
   * @param {any} context
   * @param {any} env
   */
  constructor(context, env) {
    super(context, env);
    this.#storage = context.storage;
  }

  /** How many entries are in the storage, those that are over included. */
  held() {
    return [...this.#storage.kv.list()].length;
  }
}

const driver = new Driver(loadPolicy(), new DurableObjectStore(env.FUSEWIRE));

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/held') {
      const id = env.FUSEWIRE.idFromName(searchParams.get('tag'));
      return new Response(await env.FUSEWIRE.get(id).held());
    }
    if (pathname !== '/drive' || request.method !== 'POST') {
      return new Response('POST /drive is what is here\n', { status: 404 });
    }
    return new Response(await driver.answer(await request.text()));
  },
};
