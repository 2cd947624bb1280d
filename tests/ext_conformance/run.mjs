// Runs a program on one extension after the other, several at once, each in folders of its own, and reads its last line.

import { execFile } from "node:child_process";

import { prepare } from "./place.mjs";

/** How long one extension may take. */
const PATIENCE_MS = 240_000;

/** How many run at once. */
const ABREAST = 3;

/**
 * Calls `command(entry, place)` for each entry, which answers `[program, ...arguments]`, and hands out what the program
 * said on its last line, or why it said nothing, and the place in which it ran, which is gone afterwards. What our program
 * built is kept in `cache`, if there is one.
 */
export async function each(entries, command, heard, cache) {
  const waiting = [...entries];
  const worker = async () => {
    for (let entry = waiting.shift(); entry; entry = waiting.shift()) await told(entry, command, (seen, place) => heard(entry, seen, place), cache);
  };
  await Promise.all(Array.from({ length: ABREAST }, worker));
}

/** The same for one entry: answers what the program said. */
export async function once(entry, command) {
  return told(entry, command, (seen) => seen);
}

function told(entry, command, heard, cache) {
  const place = prepare(entry.path, cache);
  const [program, ...words] = command(entry, place);
  const options = { cwd: place.cwd, env: place.env, timeout: PATIENCE_MS, killSignal: "SIGKILL", maxBuffer: 256 << 20 };
  return new Promise((done) => {
    execFile(program, words, options, (error, stdout, stderr) => {
      const seen = read(stdout) ?? { loaded: false, isSilent: true, error: fault(error, stderr) };
      done(heard(seen, place));
      place.remove();
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
