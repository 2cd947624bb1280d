// What is compared: the official examples inside Pi's npm package, and published packages. Nothing of it is kept in this
// repository; `install` fetches it into a folder outside the checkout, `entries` says which files of it are extensions.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const HERE = dirname(fileURLToPath(import.meta.url));
export const CORPUS = JSON.parse(readFileSync(join(HERE, "corpus.json"), "utf8"));

/** How many packages are fetched at once. */
const ABREAST = 4;

/**
 * Fetches Pi and all packages into `folder`, each into a place of its own, unless they are there. Scripts of packages never
 * run. Answers what could not be had: a package whose dependency is not on the registry is no row, and is said aloud.
 */
export async function install(folder) {
  const missing = [];
  const hosts = CORPUS.hosts.flatMap(({ pi, node }) => (node ? [pi, nodePackage(node)] : [pi]));
  const waiting = [...hosts, ...CORPUS.packages];
  const fetcher = async () => {
    for (let wanted = waiting.shift(); wanted; wanted = waiting.shift()) {
      const fault = await fetch(folder, wanted);
      if (fault) missing.push({ name: wanted, fault });
    }
  };
  await Promise.all(Array.from({ length: ABREAST }, fetcher));
  return missing.sort((a, b) => order(a.name, b.name));
}

async function fetch(folder, wanted) {
  const home = place(folder, wanted);
  const stamp = join(home, "installed");
  if (existsSync(stamp)) return readFileSync(stamp, "utf8") || undefined;
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true }));
  const flags = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--omit=peer"];
  const npm = promisify(execFile);
  try {
    await npm("npm", [...flags, "--prefix", home, wanted]);
    if (wanted === CORPUS.hosts[0].pi) for (const example of needy(folder)) await npm("npm", [...flags, "--prefix", example]);
  } catch (error) {
    const lines = String(error.stderr).split("\n").filter((line) => /^npm error 404 {2}|^npm error code/.test(line));
    const fault = lines.pop()?.replace(/^npm error (404 +)?/, "") ?? "npm failed";
    if (fault.includes("could not be found")) writeFileSync(stamp, fault);
    return fault;
  }
  writeFileSync(stamp, "");
}

/** Examples that bring dependencies of their own. */
function needy(folder) {
  const examples = join(hosts(folder)[0].folder, CORPUS.examples);
  const described = readdirSync(examples).filter((name) => existsSync(join(examples, name, "package.json")));
  const wants = (name) => JSON.parse(readFileSync(join(examples, name, "package.json"), "utf8")).dependencies;
  return described.filter(wants).map((name) => join(examples, name));
}

function place(folder, wanted) {
  return join(folder, wanted.replaceAll("/", "+"));
}

function installed(folder, wanted) {
  return join(place(folder, wanted), "node_modules", wanted.slice(0, wanted.lastIndexOf("@")));
}

/** The package of npm that holds the program itself; the one named `node` fetches it by a script. */
function nodePackage(version) {
  return `node-${process.platform}-${process.arch}@${version}`;
}

/** Every extension of the corpus: `{id, kind, path}`, in an order that does not change. */
export function entries(folder) {
  const examples = join(hosts(folder)[0].folder, CORPUS.examples);
  const official = discover(examples).map((path) => ({ kind: "example", id: name(examples, path), path }));
  const published = CORPUS.packages.flatMap((wanted) => {
    const bare = wanted.slice(0, wanted.lastIndexOf("@"));
    const home = installed(folder, wanted);
    const found = packaged(home);
    return found.map((path) => ({ kind: "package", id: found.length === 1 ? bare : `${bare}/${name(home, path)}`, path }));
  });
  return [...official, ...published].sort((a, b) => order(a.kind, b.kind) || order(a.id, b.id));
}

/** The hosts whose word counts, in the order in which they are asked: `{name, node, folder}`. */
export function hosts(folder) {
  return CORPUS.hosts.map(({ pi, node }) => ({
    name: pi,
    node: node ? join(installed(folder, nodePackage(node)), "bin", "node") : process.execPath,
    folder: installed(folder, pi),
  }));
}

/** The extensions of a package: what its manifest names, or its folder `extensions`. */
function packaged(home) {
  if (!existsSync(home)) return [];
  const listed = manifest(home)?.extensions;
  if (!listed) return existsSync(join(home, "extensions")) ? discover(join(home, "extensions")) : [];
  const without = listed.filter((item) => /^[!-]/.test(item)).map((item) => pattern(item.slice(1)));
  const wanted = listed.filter((item) => !/^[!-]/.test(item)).map((item) => item.replace(/^\+/, ""));
  const found = wanted.flatMap((item) => {
    if (/[*?]/.test(item)) return walk(home).filter((path) => pattern(item).test(relative(home, path)));
    const path = resolve(home, item);
    if (!existsSync(path)) return [];
    return statSync(path).isDirectory() ? (folderEntries(path) ?? discover(path)) : [path];
  });
  return [...new Set(found)].filter((path) => !without.some((each) => each.test(relative(home, path))));
}

/** One level deep, as Pi looks: files, and folders with a manifest or an index. */
function discover(folder) {
  const children = readdirSync(folder, { withFileTypes: true }).sort((a, b) => order(a.name, b.name));
  return children.flatMap((child) => {
    const path = join(folder, child.name);
    if (child.isDirectory()) return folderEntries(path) ?? [];
    return /\.(ts|js)$/.test(child.name) && !child.name.endsWith(".d.ts") ? [path] : [];
  });
}

function folderEntries(folder) {
  const listed = manifest(folder)?.extensions?.map((item) => resolve(folder, item)).filter(existsSync);
  if (listed?.length) return listed;
  const index = ["index.ts", "index.js"].map((file) => join(folder, file)).find(existsSync);
  return index && [index];
}

function manifest(folder) {
  const file = join(folder, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).pi : undefined;
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((child) => {
    if (child.name === "node_modules") return [];
    const path = join(folder, child.name);
    return child.isDirectory() ? walk(path) : [path];
  });
}

function pattern(glob) {
  const parts = glob.replace(/^\.\//, "").split(/(\*\*\/|\*\*|\*|\?)/);
  const wild = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  return new RegExp(`^${parts.map((part) => wild[part] ?? part.replace(/[.+^${}()|[\]\\]/g, "\\$&")).join("")}$`);
}

function name(home, path) {
  return relative(home, path).replace(/\/index\.(ts|js)$/, "").replace(/\.(ts|js)$/, "");
}

/** Whether all of the words are in the kind and name of an extension; `a|b` is one of both. */
export function isMeant({ kind, id }, words) {
  return words.every((word) => word.split("|").some((one) => `${kind} ${id}`.includes(one)));
}

/** The name of the files about an extension. */
export function fileName({ kind, id }) {
  return `${kind}-${id.replaceAll(/[^A-Za-z0-9._-]+/g, "-")}.json`;
}

export function order(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
