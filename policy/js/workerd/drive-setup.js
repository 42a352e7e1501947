/**
 * @file How scenarios are played in workerd: test support, and not in the package.
 */

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..');

/** @returns {Omit<import('./config.js').Setup, 'storage'>} */
export function driveSetup() {
  return {
    main: join(PACKAGE, 'workerd/drive-worker.js'),
    modules: {
      ...folder('drive', 'fusewire/drive'),
      ...folder('node_modules/lossless-json/lib/esm', 'lossless-json'),
    },
    aliases: { 'fusewire/drive/lossless-json': 'lossless-json/index.js' },
  };
}

/**
 * The modules of a folder, by their names.
 *
 * @param {string} path
 * @param {string} name
 */
function folder(path, name) {
  const files = readdirSync(join(PACKAGE, path)).filter((file) => /^\w+\.js$/.test(file));
  return Object.fromEntries(files.map((file) => [`${name}/${file}`, join(PACKAGE, path, file)]));
}
