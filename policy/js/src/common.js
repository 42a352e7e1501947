/**
 * @file What every runtime's entry exports.
 */

export * from './contract.js';
export { Admitted, RefusedError } from './admitted.js';
export { STORE_PATIENCE_MS } from './ask.js';
export { Fault } from './fault.js';
export { guarded } from './fetch/guarded.js';
export { Guard } from './guard.js';
export { ConfigurationError, OverrideError, Policy } from './policy.js';
export { StoreError } from './store/errors.js';
export { MemoryStore } from './store/memory.js';
export { checkCount, checkGet, checkSwap } from './store/rules.js';
export { WatchedStore } from './store/watched.js';
