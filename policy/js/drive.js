/**
 * @file `node drive.js --store memory` and `node drive.js --store redis://host:port`: plays
 * scenarios in Node. Requests are read from standard input, one a line, and answered in order on
 * standard output; it ends with its input.
 */

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { Driver } from './drive/driver.js';
import { loadPolicy } from './src/index.js';
import { RedisStore } from './src/redis/index.js';
import { MemoryStore } from './src/store/memory.js';

const { values } = parseArgs({ options: { store: { type: 'string', default: 'memory' } } });

const redis = values.store === 'memory' ? undefined : await RedisStore.connect(values.store);
const driver = new Driver(loadPolicy(), redis ?? new MemoryStore());

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${await driver.answer(line)}\n`);
}
redis?.close();
