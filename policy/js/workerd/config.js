/**
 * @file The configuration of a local workerd that runs a worker of this package.
 *
 * On Cloudflare a bundler resolves imports by the package's `exports`. workerd alone resolves
 * names, so each module is embedded under the name that leads to it.
 */

import { readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * @typedef {object} Setup
 * @property {string} main The worker's main module, a path.
 * @property {Record<string, string>} [bindings] Texts that the worker sees in `env`.
 * @property {string} storage The folder that Durable Objects keep their state in.
 * @property {Record<string, string>} [modules] More modules by their names, as paths.
 * @property {Record<string, string>} [aliases] More names of modules.
 */

/**
 * @param {Setup} setup
 * @param {string} from The folder that the configuration will be in.
 * @returns {string}
 */
export function configuration({ main, bindings = {}, storage, modules = {}, aliases = {} }, from) {
  const embedded = [
    module('main.js', main, from),
    alias('fusewire', 'fusewire/src/index.workerd.js'),
    alias('fusewire/workerd', 'fusewire/src/workerd/index.js'),
    ...[...files('src'), ...files('dist/policy')].map((file) =>
      module(`fusewire/${file}`, join(PACKAGE, file), from),
    ),
    ...Object.entries(modules).map(([name, path]) => module(name, path, from)),
    ...Object.entries(aliases).map(([name, to]) => alias(name, to)),
  ];
  const texts = Object.entries(bindings).map(
    ([name, text]) => `(name = ${quoted(name)}, text = ${quoted(text)}),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "storage", disk = (path = ${quoted(resolve(storage))}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  compatibilityDate = "2026-05-01",
  modules = [
    ${embedded.join('\n    ')}
  ],
  bindings = [
    (name = "FUSEWIRE", durableObjectNamespace = "FusewireStore"),
    ${texts.join('\n    ')}
  ],
  durableObjectNamespaces = [
    (className = "FusewireStore", uniqueKey = "fusewire-store", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "storage"),
);
`;
}

/**
 * The modules in a folder of the package that workerd can run.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function files(folder) {
  return readdirSync(join(PACKAGE, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => /\.(js|wasm)$/.test(file))
    .filter((file) => !file.startsWith('src/redis/') && !file.endsWith('artefact/node.js'));
}

/**
 * @param {string} name
 * @param {string} path
 * @param {string} from
 */
function module(name, path, from) {
  const kind = path.endsWith('.wasm') ? 'wasm' : 'esModule';
  return `(name = ${quoted(name)}, ${kind} = embed ${quoted(relative(from, path))}),`;
}

/**
 * @param {string} name
 * @param {string} to
 */
function alias(name, to) {
  return `(name = ${quoted(name)}, esModule = ${quoted(`export * from '/${to}';`)}),`;
}

/** @param {string} text */
function quoted(text) {
  return JSON.stringify(text);
}
