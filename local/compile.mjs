import { createHash, randomUUID } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// JavaScript, because it compiles the TypeScript that `npm start` runs.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "node_modules", ".cache", "feedback");

/**
 * Loads it only to compile: it is not in the memory of a stack.
 * @returns {typeof import("esbuild")}
 */
export function esbuild() {
  // Read when it is loaded: otherwise a process of it stays. A thread of one that is loaded already, as in tsx, must not read it.
  process.env.ESBUILD_WORKER_THREADS = "0";
  const loaded = createRequire(import.meta.url)("esbuild");
  delete process.env.ESBUILD_WORKER_THREADS;
  return loaded;
}

/** @type {import("esbuild").BuildOptions} */
const common = { absWorkingDir: root, bundle: true, format: "esm", platform: "node", logLevel: "error" };

// Runtimes do not allow bundling these; Node packages such as postgres.js import them.
const globals = `import { Buffer as NodeBuffer } from "node:buffer";
import { clearImmediate as nodeClear, setImmediate as nodeSet } from "node:timers";
globalThis.global ??= globalThis;
globalThis.Buffer ??= NodeBuffer;
globalThis.setImmediate ??= nodeSet;
globalThis.clearImmediate ??= nodeClear;`;

/**
 * For a function as one file, for runtimes without import maps.
 * @type {import("esbuild").BuildOptions}
 */
export const functionOptions = {
  ...common,
  target: "esnext",
  jsx: "automatic",
  jsxImportSource: "hono/jsx",
  // Deno requires the node: prefix.
  alias: Object.fromEntries(builtinModules.filter((id) => !id.startsWith("_")).map((id) => [id, `node:${id}`])),
  banner: { js: globals },
};

/** @param {string} name */
export const functionEntry = (name) => join("functions", name, "index.ts");

/** A process that waits returns its memory. */
const inject = ["local/processes/idle-memory.ts"];

/**
 * Path of a Node program as one file of JavaScript.
 * @param {string} entry
 */
export const compileProgram = (entry) =>
  compile(entry, {
    ...common,
    inject,
    entryPoints: [entry],
    packages: "external",
    target: "node20",
    // Files are found by local/root.ts.
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
  });

/**
 * Path of a function as one file of JavaScript.
 * @param {string} name
 * @param {() => string[]} prepare writes files that it imports, and returns the files they are made from
 */
export const compileFunction = (name, prepare = () => []) =>
  compile(
    functionEntry(name),
    // Without identifiers, so that stack traces have the names of functions.
    { ...functionOptions, inject, entryPoints: [functionEntry(name)], minifyWhitespace: true, minifySyntax: true },
    prepare,
  );

/**
 * Compiles when a file has changed since the last time.
 * @param {string} entry
 * @param {import("esbuild").BuildOptions} options
 * @param {() => string[]} [prepare]
 */
function compile(entry, options, prepare = () => []) {
  const name = entry.replace(/\/(?:index|process)\.ts$|\.ts$/, "").replaceAll("/", "-");
  const list = join(folder, `${name}.json`);
  /** @param {string[]} inputs */
  const pathFor = (inputs) => {
    const hash = createHash("sha256").update(JSON.stringify(options));
    // Packages do not change without the list of what npm installed.
    for (const input of ["node_modules/.package-lock.json", ...inputs])
      hash.update(`\0${input}\0`).update(read(join(root, input)));
    return join(folder, `${name}-${hash.digest("hex").slice(0, 16)}.mjs`);
  };
  const known = read(list).toString();
  const existing = known && pathFor(JSON.parse(known));
  if (existing && existsSync(existing)) return existing;

  mustBeWritable();
  const sources = prepare();
  const { metafile, outputFiles } = esbuild().buildSync({ ...options, write: false, metafile: true });
  const inputs = [...Object.keys(metafile.inputs), ...sources].filter((path) => !path.startsWith("node_modules/"));
  const path = pathFor(inputs);
  for (const { contents } of outputFiles) replace(path, contents);
  replace(list, JSON.stringify(inputs));
  return path;
}

function mustBeWritable() {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new Error(
      `a program is not compiled yet, and ${folder} cannot be written: run npm run build:start as the owner of ${root}`,
      { cause: error },
    );
  }
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/**
 * Atomic: another stack may read the same file.
 * @param {string} path
 * @param {string | Uint8Array} content
 */
function replace(path, content) {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
