// Runs a program on one extension after the other, several at once, each in folders of its own, and reads its last line.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How long one extension may take. */
const PATIENCE_MS = 120_000;

/** How many run at once. */
const ABREAST = 2;

/**
 * Calls `command(entry, place)` for each entry, which answers `[program, ...arguments]`, and hands out what the program
 * said on its last line, or why it said nothing.
 */
export async function each(entries, command, heard) {
  const waiting = [...entries];
  const worker = async () => {
    for (let entry = waiting.shift(); entry; entry = waiting.shift()) heard(entry, ...(await told(entry, command)));
  };
  await Promise.all(Array.from({ length: ABREAST }, worker));
}

/** The same for one entry: answers what the program said. */
export async function once(entry, command) {
  const [seen] = await told(entry, command);
  return seen;
}

/** What the program said, and the folders that it may have said, each with a word in its place. */
function told(entry, command) {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "ext-conformance-")));
  const [home, cwd] = ["home", "project"].map((name) => join(place, name));
  for (const folder of [home, cwd]) mkdirSync(folder);
  const [program, ...words] = command(entry, { home, cwd });
  const env = { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", TERM: "xterm-256color", TMPDIR: place };
  const options = { cwd, env, timeout: PATIENCE_MS, killSignal: "SIGKILL", maxBuffer: 64 << 20 };
  return new Promise((done) => {
    execFile(program, words, options, (error, stdout, stderr) => {
      rmSync(place, { recursive: true, force: true });
      done([read(stdout) ?? { loaded: false, error: fault(error, stderr) }, [[home, "<home>"], [cwd, "<cwd>"], [place, "<temporary>"]]]);
    });
  });
}

function read(stdout) {
  const last = stdout.trimEnd().split("\n").pop();
  try {
    return JSON.parse(last);
  } catch {
    return undefined;
  }
}

function fault(error, stderr) {
  if (error?.killed) return `no answer in ${PATIENCE_MS / 1000} s`;
  return stderr.trim().split("\n").slice(-3).join(" ") || error?.message || "no answer";
}
