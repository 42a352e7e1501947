/**
 * @file `node workerd/serve.js --upstream http://host:port`: runs the worker beside this file in a
 * local workerd. Prints where it listens, and stops when its input ends or it is told to.
 *
 * With `--storage folder` state outlives the process; with `--policy '{...}'` the policy is
 * configured; with `--drive` scenarios are played instead (see `drive-worker.js`).
 */

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { launch } from './launch.js';
import { driveSetup } from './drive-setup.js';

const { values } = parseArgs({
  options: {
    drive: { type: 'boolean', default: false },
    upstream: { type: 'string' },
    storage: { type: 'string' },
    policy: { type: 'string', default: '{}' },
  },
});
if (!values.drive && values.upstream === undefined) {
  console.error('serve: whom to guard? --upstream http://host:port');
  process.exit(2);
}

const main = join(dirname(fileURLToPath(import.meta.url)), 'worker.js');
const workerd = await launch(
  values.drive
    ? driveSetup()
    : {
        main,
        bindings: { UPSTREAM: values.upstream ?? '', POLICY: values.policy },
        storage: values.storage,
      },
);
console.log(`listening on ${workerd.url}`);

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  process.once(signal, () => workerd.stop());
}
process.stdin.resume().once('end', () => workerd.stop());
process.exitCode = (await workerd.ended) ?? 0;
process.stdin.destroy();
