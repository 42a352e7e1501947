/**
 * @file A store on Redis, for a fleet: `fusewire/redis`. Needs the package `redis`.
 *
 * | module | subject |
 * |---|---|
 * | store.js | `RedisStore`: each operation as one round trip |
 * | scripts.js | calls of the Lua scripts, which are those of the Rust host |
 * | link.js | the one connection, and what brings it back |
 * | clock.js | the fleet's clock: local monotonic time plus a measured offset |
 * | errors.js | which of Redis's errors mean "out of reach", and which "will not be done" |
 *
 * A value is a string. A windowed counter is a hash: field `e` is the epoch that owns it, and field
 * `<bucket>:<lane>` an amount. Keys, values and scripts are the same in every runtime.
 */

export { RedisStore } from './store.js';
