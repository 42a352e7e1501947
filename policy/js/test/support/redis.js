/**
 * @file Servers and stores that are gone when their test is over, however it ends.
 *
 * @import { TestContext } from 'node:test'
 */

import { createClient } from 'redis';
import { RedisStore } from 'fusewire/redis';

import { RedisServer } from './redis-server.js';

/**
 * @param {Pick<TestContext, 'after'>} t
 * @param {number} [port]
 */
export async function startedServer(t, port) {
  const server = await RedisServer.start(port);
  t.after(() => server.kill());
  return server;
}

/**
 * @param {Pick<TestContext, 'after'>} t
 * @param {string} url
 * @param {Parameters<typeof RedisStore.connect>[1]} [options]
 */
export async function connectedStore(t, url, options) {
  const store = await RedisStore.connect(url, options);
  t.after(() => store.close());
  return store;
}

/**
 * What a server answers to a command.
 *
 * @param {RedisServer} whom
 * @param {string[]} command
 */
export async function tell(whom, ...command) {
  const client = createClient({ url: whom.url });
  await client.connect();
  const answer = await client.sendCommand(command);
  client.destroy();
  return answer;
}
