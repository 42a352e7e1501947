/**
 * @file `npm run build`: makes `dist/` of the policy component.
 *
 * dist/policy/   what jco makes of the component: JavaScript, core modules, declarations
 * dist/redis/    the Lua scripts, the very ones of the Rust host
 *
 * and brings the licences, so that the package has them.
 */

import { copyFile, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { transpile } from './transpile.js';

const HERE = join(dirname(fileURLToPath(import.meta.url)), '..');
const ROOT = join(HERE, '../..');
const DIST = join(HERE, 'dist');
const COMPONENT = process.env.FUSEWIRE_POLICY_WASM ?? join(ROOT, 'target/fusewire_policy.wasm');
const SCRIPTS = join(ROOT, 'host/src/store/redis');

/** @returns {Promise<Uint8Array>} */
async function component() {
  try {
    return await readFile(COMPONENT);
  } catch (error) {
    throw new Error(
      `there is no policy component at ${COMPONENT}. ` +
        '`cargo build` in the repository makes it; FUSEWIRE_POLICY_WASM names another one.',
      { cause: error },
    );
  }
}

/**
 * Puts a file into `dist/`. One that is the same stays as it is, and another is replaced in one
 * step, so that a program which runs meanwhile finds it whole.
 *
 * @param {string} name
 * @param {Uint8Array} content
 */
async function put(name, content) {
  const path = join(DIST, name);
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(content)) {
    return;
  }
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

/** Removes what an earlier build has left. @param {Set<string>} names */
async function removeAllBut(names) {
  for (const entry of await readdir(DIST, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !names.has(relative(DIST, path))) {
      await rm(path);
    }
  }
}

async function main() {
  const files = await transpile(await component());
  const made = new Map(Object.entries(files).map(([name, file]) => [join('policy', name), file]));
  for (const script of ['swap.lua', 'count.lua']) {
    made.set(join('redis', script), await readFile(join(SCRIPTS, script)));
  }
  for (const [name, content] of made) {
    await put(name, content);
  }
  await removeAllBut(new Set(made.keys()));
  for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) {
    await copyFile(join(ROOT, licence), join(HERE, licence));
  }
  const size = Object.values(files).reduce((sum, { length }) => sum + length, 0);
  console.log(`dist/: ${made.size} files, ${Math.ceil(size / 1000)} KB, of ${COMPONENT}`);
}

main().catch((error) => {
  console.error(`build: ${error.message}`);
  process.exitCode = 1;
});
