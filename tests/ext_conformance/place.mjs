// The folders in which one extension runs: a project with files and a history, a home, and a few programs. Equal for every
// host and on every machine, so that what an extension finds there is equal too.

import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";

import { order } from "./corpus.mjs";
import { FILES } from "./plan.mjs";

/** The only programs that are found. What is not here is missing everywhere. */
const PROGRAMS = "sh bash git cat ls echo env grep find sed head tail wc sort uname mkdir rm cp mv touch pwd date sleep true false tr cut xargs dirname basename printf id tee test chmod uniq diff awk seq".split(" ");

/** Ports of this machine, at which nobody listens: an extension is refused there as in the real Pi. Names of other machines lead nowhere in a rehearsal. */
const HERE = { capability: "http", scope: { hosts: ["127.0.0.1:*", "localhost:*"] } };

/** Everything may be done here by what has one of these names. */
const settings = (names) => ({ extensions: { policy: { mode: "permissive", deny_caps: [], grants: Object.fromEntries(names.map((name) => [name, [HERE]])) } } });

/** What the programs themselves keep at home. */
const OWN = /^\.pi\/agent\/(cache|logs|keys|extensions-seen\.|settings\.json|sessions|trust|history|auth\.json|models-store\.json|bin\/)/;

const IDENTITY = { GIT_AUTHOR_NAME: "Rehearsal", GIT_AUTHOR_EMAIL: "rehearsal@example.org", GIT_COMMITTER_NAME: "Rehearsal", GIT_COMMITTER_EMAIL: "rehearsal@example.org" };
const DATE = "2025-01-01T00:00:00Z";

/** Makes the folders for an extension; what was built is kept in `cache`, if there is one. `remove` takes them away again. */
export function prepare(extension, cache) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ext-conformance-")));
  const [home, cwd, bin, temporary] = ["home", "project", "bin", "tmp"].map((name) => join(root, name));
  for (const folder of [home, cwd, bin, temporary]) mkdirSync(folder);
  for (const program of PROGRAMS) link(program, bin);
  for (const [name, text] of Object.entries(FILES)) write(join(cwd, name), text);
  write(join(home, ".pi/agent/settings.json"), JSON.stringify(settings(names(extension))));
  if (cache) symlinkSync(cache, join(home, ".pi/agent/cache"));
  write(join(home, ".profile"), "");
  write(join(home, ".gitconfig"), "[user]\n\tname = Rehearsal\n\temail = rehearsal@example.org\n[init]\n\tdefaultBranch = main\n[core]\n\thooksPath = /dev/null\n");
  const env = { PATH: bin, HOME: home, LANG: "C.UTF-8", TERM: "xterm-256color", TMPDIR: temporary, TZ: "UTC", SHELL: join(bin, "bash"), USER: "rehearsal" };
  const git = (...words) => execFileSync("git", words, { cwd, env: { ...env, ...IDENTITY, GIT_AUTHOR_DATE: DATE, GIT_COMMITTER_DATE: DATE, PATH: process.env.PATH }, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "Begin the rehearsal");
  write(join(cwd, "notes.txt"), `${FILES["notes.txt"]}fourth line\n`);
  const folders = [[home, "<home>"], [cwd, "<cwd>"], [temporary, "<temporary>"], [root, "<root>"]];
  const traces = () => ({ files: { ...listed(cwd, /^\.git\//, ""), ...listed(home, OWN, "~/") }, commits: lines(() => git("log", "--all", "--format=%s")) });
  const before = traces();
  return { home, cwd, env, folders, root, changes: () => changes(before, traces()), remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** What our host may call an extension: its file or folder, and the package that it belongs to. */
function names(path) {
  const own = [basename(path).replace(/\.[^.]+$/, ""), basename(dirname(path))];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) {
    const file = join(at, "package.json");
    if (!existsSync(file)) continue;
    const { name } = JSON.parse(readFileSync(file, "utf8"));
    return name ? [...new Set([...own, name, `${name}-${own[0]}`])] : own;
  }
  return own;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function link(program, bin) {
  const found = process.env.PATH.split(delimiter).map((folder) => join(folder, program)).find(isExecutable);
  if (found) symlinkSync(realpathSync(dirname(found)) + `/${program}`, join(bin, program));
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function lines(make) {
  try {
    return make().trim().split("\n");
  } catch {
    return [];
  }
}

function listed(folder, without, prefix) {
  const found = {};
  const visit = (at) => {
    for (const child of readdirSync(at, { withFileTypes: true })) {
      const path = join(at, child.name);
      const name = relative(folder, path);
      if (without.test(child.isDirectory() ? `${name}/` : name)) continue;
      if (child.isDirectory()) visit(path);
      else if (child.isFile()) found[prefix + name] = readFileSync(path, "utf8");
    }
  };
  visit(folder);
  return found;
}

function changes(before, after) {
  const names = [...new Set([...Object.keys(before.files), ...Object.keys(after.files)])].sort(order);
  const files = names.filter((name) => before.files[name] !== after.files[name]).map((name) => [name, after.files[name] ?? null]);
  const commits = after.commits.slice(0, Math.max(0, after.commits.length - before.commits.length));
  return { files: Object.fromEntries(files), commits };
}
