/**
 * @file Stores for workerd and Cloudflare: `fusewire/workerd`.
 *
 * | module | subject |
 * |---|---|
 * | durable-object-store.js | `DurableObjectStore`: the store as a worker sees it |
 * | store-object.js | `FusewireStore`: the Durable Object that keeps one provider's keys |
 */

export { DurableObjectStore } from './durable-object-store.js';
export { FusewireStore } from './store-object.js';
