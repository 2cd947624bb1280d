import { shim } from "./setup.js";
import assert from "node:assert/strict";
import * as theirs from "node:child_process";
import test from "node:test";
import util from "node:util";

const { default: ours } = await shim("node/child_process");
const { default: process_ } = await shim("node/process");
const { promisify } = await shim("node/util");

/** The same story on both. */
function story(name, tell) {
  test(name, async () => {
    const [one, other] = [await tell(ours, promisify), await tell(theirs, util.promisify)];
    assert.deepEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
  });
}
const told = (act) => {
  try {
    return String(act());
  } catch ({ message, status, code, stderr }) {
    return { message, status, code, stderr: stderr === undefined || stderr === null ? undefined : String(stderr) };
  }
};
const ended = (child) => new Promise((resolve) => {
  const seen = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => { seen.out += chunk; });
  child.stderr?.on("data", (chunk) => { seen.err += chunk; });
  child.on("error", (fault) => { seen.fault = [fault.message, fault.code, fault.syscall, fault.path]; });
  child.on("exit", (code, signal) => { seen.exit = [code, signal]; });
  child.on("close", () => resolve(seen));
});

story("execSync gives output and throws with status and errors", ({ execSync, execFileSync }) => [
  told(() => execSync("echo hi; echo oops >&2", { stdio: ["pipe", "pipe", "pipe"] })), told(() => execSync("printf a; exit 3", { stdio: "pipe" })), told(() => execSync("echo bad >&2; exit 1", { stdio: "pipe", encoding: "utf8" })), told(() => execFileSync("echo", ["$HOME", "a b"])), told(() => execSync("cat", { input: "in" })),
  told(() => execSync("echo $X", { env: { ...process.env, X: "set" } })), told(() => execSync("pwd", { cwd: "/" })),
]);
story("spawnSync", ({ spawnSync }) => {
  const plain = ({ status, signal, stdout, stderr, error }) => ({ status, signal, stdout: stdout && String(stdout), stderr: stderr && String(stderr), error: error?.message, code: error?.code });
  return [plain(spawnSync("sh", ["-c", "echo out; echo err >&2; exit 2"])), plain(spawnSync("no-such-program-x", ["a"])), plain(spawnSync("echo a; echo b", { shell: true, encoding: "utf8" })), plain(spawnSync("sleep", ["5"], { timeout: 50 }))];
});
story("spawn streams, exits and closes", async ({ spawn }) => [await ended(spawn("sh", ["-c", "echo out; echo err >&2; exit 4"])), await ended(spawn("no-such-program-x", ["a"])), await ended(spawn("echo", ["x"], { stdio: ["ignore", "pipe", "ignore"] })), await ended(spawn("echo $((1+1))", { shell: true }))]);
story("input goes to the process", async ({ spawn }) => {
  const child = spawn("cat");
  child.stdin.write("a");
  child.stdin.write("b");
  child.stdin.end("c");
  return ended(child);
});
story("kill ends a process", async ({ spawn }) => {
  const child = spawn("sleep", ["20"], { stdio: "ignore" });
  const over = new Promise((resolve) => child.on("exit", (code, signal) => resolve([code, signal, child.killed])));
  setTimeout(() => child.kill(), 30);
  return over;
});
story("exec and execFile call back", async ({ exec, execFile }, promisify_) => {
  const later = (start, ...args) => new Promise((resolve) => start(...args, (fault, stdout, stderr) => resolve([fault && { message: fault.message, code: fault.code, killed: fault.killed }, stdout, stderr])));
  const { stdout } = await promisify_(exec)("echo p");
  const file = await promisify_(execFile)("echo", ["q"]);
  return [await later(exec, "echo a; echo b >&2"), await later(exec, "exit 5"), await later(execFile, "echo", ["x y"]), await later(exec, "yes | head -c 5000", { maxBuffer: 100 }).then(([fault, out]) => [fault.code, out.length]), stdout, file.stdout, await promisify_(exec)("exit 2").catch((fault) => fault.code)];
});
story("input is written while the process runs", async ({ spawn }) => {
  const child = spawn("sh", ["-c", "while read line; do echo got $line; done; echo over"]);
  let said = "";
  let wake;
  child.stdout.on("data", (chunk) => { said += chunk; wake?.(); });
  const until = async (words) => { while (!said.includes(words)) await new Promise((resolve) => { wake = resolve; }); };
  const closed = new Promise((resolve) => child.on("close", (...end) => resolve(end)));
  const written = [];
  for (const word of ["one", "two"]) {
    child.stdin.write(`${word}\n`, () => written.push(word));
    await until(`got ${word}`);
  }
  child.stdin.end("three\n");
  return [await closed, said, written];
});
story("input that nobody reads does no harm", async ({ spawn }) => {
  const child = spawn("sh", ["-c", "exec <&-; echo deaf; exec sleep 30"]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const fault = new Promise((resolve) => child.stdin.on("error", resolve));
  child.stdin.write("a");
  const { code, syscall } = await fault;
  child.kill();
  return [code, syscall, await new Promise((resolve) => child.on("close", (...end) => resolve(end)))];
});
test("output goes to files that were opened, also when they are closed meanwhile, and input comes from them", async () => {
  const fs = { ours: (await shim("node/fs")).default, theirs: await import("node:fs") };
  const tell = async ({ spawn, spawnSync, execSync }, { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync, writeSync }) => {
    const folder = mkdtempSync("/tmp/pi-shims-stdio-");
    const log = openSync(`${folder}/log`, "a");
    writeSync(log, "before ");
    const child = spawn("sh", ["-c", "printf 'out '; printf 'err ' >&2"], { stdio: ["ignore", log, { fd: log }] });
    closeSync(log);
    const seen = await ended(child);
    writeFileSync(`${folder}/in`, "given");
    const [input, again] = [openSync(`${folder}/in`, "r"), openSync(`${folder}/log`, "a")];
    const sync = spawnSync("cat", [], { stdio: [input, again, "pipe"] });
    const echoed = await ended(spawn("cat", [], { stdio: [openSync(`${folder}/in`, "r"), "pipe", "ignore"] }));
    return [seen.exit, sync.status, sync.stdout, echoed.out, execSync("echo", { stdio: ["ignore", again, "ignore"] }), readFileSync(`${folder}/log`, "utf8")];
  };
  const expected = [[0, null], 0, null, "given", null, "before out err given\n"];
  assert.deepEqual(await tell(ours, fs.ours), expected);
  assert.deepEqual(await tell(theirs, fs.theirs), expected);
  assert.throws(() => ours.spawn("echo", [], { stdio: [{}, "pipe", "pipe"] }), { code: "ERR_INVALID_ARG_VALUE" });
  assert.throws(() => ours.spawn("echo", [], { stdio: ["pipe", 4000, "pipe"] }), { code: "EBADF" });
});
test("an error that nobody listens to ends the call of the host, and the process is closed all the same", async () => {
  const { failures } = await import("./host.js");
  const code = await new Promise((resolve) => ours.spawn("no-such-program-x").on("close", resolve));
  assert.deepEqual([code, failures.at(-1)?.message], [-2, "spawn no-such-program-x ENOENT"]);
});
test("process.kill reaches own processes by their numbers, and no others", async () => {
  const child = ours.spawn("sleep", ["20"], { stdio: "ignore" });
  const over = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal)));
  assert.ok(process_.kill(child.pid, 0));
  setTimeout(() => process_.kill(-child.pid, "SIGKILL"), 20);
  assert.equal(await over, "SIGKILL");
  assert.throws(() => process_.kill(1, "SIGTERM"), { code: "EPERM" });
});
test("of a copy of one's own environment only what is different is brought", async () => {
  const { givenTo } = await import("./setup.js").then(({ shim }) => shim("node/process/environment"));
  process.env.PI_SHIMS_SECRET = "hush";
  const copy = { ...process_.env };
  assert.deepEqual(givenTo(copy), { env: { PI_SHIMS_SECRET: "hush" } });
  assert.deepEqual(givenTo({ ...copy, PATH: "/x", GIVEN: "1", PI_SHIMS_SECRET: undefined }), { env: { PATH: "/x", GIVEN: "1" }, unset: ["PI_SHIMS_SECRET"] });
  delete process.env.PI_SHIMS_SECRET;
});
test("the environment is asked for by name, and changes stay inside", () => {
  assert.equal(process_.env.HOME, process.env.HOME);
  assert.equal(process_.env.PI_SHIMS_NOT_SET, undefined);
  process_.env.PI_SHIMS_OWN = 5;
  assert.deepEqual([process_.env.PI_SHIMS_OWN, "PI_SHIMS_OWN" in process_.env, process.env.PI_SHIMS_OWN], ["5", true, undefined]);
  assert.equal(String(ours.execSync("echo $PI_SHIMS_OWN")).trim(), "5");
  delete process_.env.PI_SHIMS_OWN;
  assert.equal(process_.env.PI_SHIMS_OWN, undefined);
  assert.ok(Object.keys(process_.env).includes("PATH") && { ...process_.env }.PATH === process.env.PATH);
});
test("an environment that is given is all that there is, and a copy of one's own stands for the host's", () => {
  process.env.PI_SHIMS_HOST = "host";
  const seen = (env) => String(ours.execSync("echo $PI_SHIMS_HOST-$PI_SHIMS_OWN-$GIVEN", { env })).trim();
  const { PI_SHIMS_HOST: _, ...rest } = process_.env;
  const told = [seen({ GIVEN: "1" }), seen({ ...process_.env, GIVEN: 2 }), seen(rest), seen(undefined)];
  process_.env.PI_SHIMS_OWN = "own";
  delete process_.env.PI_SHIMS_HOST;
  told.push(seen(process_.env), seen(Object.assign({}, process_.env)), seen({ PATH: process_.env.PATH }));
  delete process_.env.PI_SHIMS_OWN;
  assert.deepEqual(told, ["--1", "host--2", "--", "host--", "-own-", "-own-", "--"]);
  // What an extension may not see is in no list, so the mark alone tells a copy from an environment that is given.
  const copy = { ...process_.env };
  assert.deepEqual(Object.getOwnPropertySymbols(copy).map((mark) => copy[mark]), [true]);
  assert.ok(!JSON.stringify(process_.env).includes("copied") && !Object.keys(process_.env).some((name) => typeof name !== "string"));
});
test("standard streams are the log and an empty input", async () => {
  const { written } = await import("./host.js");
  process_.stdout.write("to the log");
  assert.deepEqual(written.at(-1), ["stdout", "to the log"]);
  let read = "";
  for await (const chunk of process_.stdin) read += chunk;
  assert.deepEqual([read, process_.stdin.isTTY, process_.stdout.isTTY], ["", false, false]);
});
test("an extension cannot end the host", () => assert.throws(() => process_.exit(1), { code: "ERR_PROCESS_EXIT", exitCode: 1 }));
story("a process that says nothing runs all the same", async ({ spawn }) => {
  const child = spawn("cat");
  const seen = [];
  child.on("spawn", () => { seen.push("spawn"); child.stdin.write("hi\n"); });
  child.stdout.on("data", (chunk) => { seen.push(`data ${chunk}`); child.stdin.end(); });
  return new Promise((resolve) => child.on("close", (code) => resolve([...seen, code])));
});
const TRAPS = "trap 'echo got; exit 7' TERM; trap 'echo one' USR1; echo ready; while :; do sleep 0.02; done";
story("signals reach a process by their names", async ({ spawn }) => {
  const killed = (signal) => {
    const child = spawn("sh", ["-c", TRAPS]);
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (out === "ready\n") out += child.kill(signal);
      else if (out.endsWith("one\n")) child.kill("SIGKILL");
    });
    return new Promise((resolve) => child.on("close", (code, how) => resolve([code, how, out, child.killed])));
  };
  return [await killed(), await killed("SIGTERM"), await killed("SIGINT"), await killed(9), await killed("SIGUSR1")];
});
story("a signal that nobody knows is refused", async ({ spawn }) => {
  const child = spawn("sleep", ["5"], { stdio: "ignore" });
  const refused = ["SIGNONE", 999].map((signal) => { try { return child.kill(signal); } catch (fault) { return [fault.name, fault.code, fault.message]; } });
  child.kill("SIGKILL");
  return [refused, await new Promise((resolve) => child.on("exit", (code, signal) => resolve([code, signal])))];
});
story("how a process ended by itself is told", async ({ spawn, spawnSync }) => {
  const { status, signal } = spawnSync("sh", ["-c", "kill -SEGV $$"]);
  return [await ended(spawn("sh", ["-c", "kill -9 $$"])), status, signal];
});
