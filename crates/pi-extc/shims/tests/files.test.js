import { shim } from "./setup.js";
import assert from "node:assert/strict";
import * as theirs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";

const { default: ours } = await shim("node/fs");
const { default: ourPromises } = await shim("node/fs/promises");
const fresh = () => theirs.mkdtempSync(path.join(os.tmpdir(), "pi-shims-"));

/** Runs the same story in a folder of its own each and compares results and what is on the disk afterwards. */
function story(name, tell) {
  test(name, async () => {
    const outcomes = [];
    for (const [fs, promises] of [[ours, ourPromises], [theirs.default, theirs.promises]]) {
      const folder = fresh();
      const said = await tell(fs, promises, folder);
      const tree = theirs.readdirSync(folder, { recursive: true }).sort().map((file) => [file, theirs.statSync(path.join(folder, file)).isFile() ? theirs.readFileSync(path.join(folder, file), "hex") : "folder"]);
      outcomes.push(JSON.parse(JSON.stringify([said, tree]).replaceAll(folder, "<folder>")));
      theirs.rmSync(folder, { recursive: true });
    }
    assert.deepEqual(outcomes[0], outcomes[1]);
  });
}
const told = (act) => {
  try {
    return ["gave", act()];
  } catch (fault) {
    return ["threw", fault.message, fault.code, fault.errno, fault.syscall, fault.path];
  }
};

story("files are written, read, appended and removed", (fs, promises, folder) => {
  const file = path.join(folder, "a.txt");
  fs.writeFileSync(file, "hello ä");
  fs.appendFileSync(file, Buffer.from("!"));
  const seen = [fs.readFileSync(file, "utf8"), fs.readFileSync(file).length, fs.readFileSync(file, { encoding: "base64" }), fs.existsSync(file), fs.existsSync(`${file}x`), fs.statSync(file).size, fs.statSync(file).isFile(), fs.statSync(folder).isDirectory()];
  fs.writeFileSync(path.join(folder, "b"), "ffee", "hex");
  fs.copyFileSync(file, path.join(folder, "c"));
  fs.renameSync(file, path.join(folder, "d"));
  fs.unlinkSync(path.join(folder, "c"));
  return seen;
});
story("folders are made, listed and removed", (fs, promises, folder) => {
  const deep = path.join(folder, "x/y/z");
  const made = [fs.mkdirSync(deep, { recursive: true }), fs.mkdirSync(deep, { recursive: true })];
  fs.writeFileSync(path.join(deep, "f"), "1");
  fs.writeFileSync(path.join(folder, "B"), "");
  fs.writeFileSync(path.join(folder, "a"), "");
  const seen = [fs.readdirSync(folder), fs.readdirSync(folder, { withFileTypes: true }).map((entry) => [entry.name, entry.isDirectory(), entry.isFile()])];
  fs.cpSync(path.join(folder, "x"), path.join(folder, "copy"), { recursive: true });
  fs.rmSync(path.join(folder, "x"), { recursive: true });
  fs.rmSync(path.join(folder, "nothing"), { force: true });
  fs.mkdirSync(path.join(folder, "empty"));
  fs.rmdirSync(path.join(folder, "empty"));
  return [made, seen];
});
story("what is not there cannot be watched", (fs, promises, folder) => told(() => fs.watch(path.join(folder, "nothing"), () => {})));
story("what is made as soon as somebody watches is told", (fs, promises, folder) => new Promise((resolve) => {
  const watcher = fs.watch(folder, (event, name) => {
    watcher.close();
    resolve([event, name]);
  });
  fs.writeFileSync(path.join(folder, "new"), "");
  setTimeout(() => resolve("nothing was told"), 5000).unref();
}));
story("errors are worded alike", (fs, promises, folder) => {
  const at = (name) => path.join(folder, name);
  fs.writeFileSync(at("file"), "x");
  fs.mkdirSync(at("full/sub"), { recursive: true });
  return [
    told(() => fs.readFileSync(at("no"))), told(() => fs.statSync(at("no"))), told(() => fs.lstatSync(at("no"))), told(() => fs.readdirSync(at("no"))), told(() => fs.readdirSync(at("file"))), told(() => fs.mkdirSync(at("file"))), told(() => fs.mkdirSync(at("a/b"))), told(() => fs.unlinkSync(at("no"))),
    told(() => fs.rmdirSync(at("full"))), told(() => fs.rmSync(at("no"))), told(() => fs.renameSync(at("no"), at("q"))), told(() => fs.accessSync(at("no"))), told(() => fs.openSync(at("no"), "r")), told(() => fs.writeFileSync(at("file"), "y", { flag: "wx" })), told(() => fs.copyFileSync(at("no"), at("q"))),
    told(() => fs.realpathSync(at("no")).length), told(() => fs.statSync(at("no"), { throwIfNoEntry: false })), told(() => fs.readFileSync(undefined)), told(() => fs.readFileSync("a\0b")), told(() => fs.writeFileSync(at("q"), {})), told(() => fs.closeSync(99)), told(() => fs.chmodSync(at("no"), 0o600)),
  ];
});
story("descriptors read and write at places", (fs, promises, folder) => {
  const file = path.join(folder, "f");
  const fd = fs.openSync(file, "w+");
  const seen = [fs.writeSync(fd, "hello"), fs.writeSync(fd, Buffer.from(" world"), 0, 6), fs.writeSync(fd, "J", 0), fs.fstatSync(fd).size];
  const buffer = Buffer.alloc(5);
  seen.push(fs.readSync(fd, buffer, 0, 5, 6), buffer.toString());
  fs.closeSync(fd);
  const log = fs.openSync(file, "a");
  fs.writeSync(log, "!");
  fs.closeSync(log);
  const reading = fs.openSync(file, "r");
  seen.push(fs.readSync(reading, buffer), buffer.toString(), fs.readSync(reading, buffer), buffer.toString());
  fs.closeSync(reading);
  return seen;
});
story("what is longer than a call may be goes in parts", async (fs, promises, folder) => {
  const at = (name) => path.join(folder, name);
  const long = Buffer.alloc(18e6, "0123456789");
  const facts = (name) => [fs.statSync(at(name)).size, fs.readFileSync(at(name)).equals(fs.readFileSync(at("w"))), fs.statSync(at(name)).mode & 0o777];
  fs.writeFileSync(at("w"), long, { mode: 0o700 });
  fs.writeFileSync(at("ä"), "ä".repeat(9e6), { flag: "wx" });
  fs.writeFileSync(at("short"), "x");
  fs.appendFileSync(at("short"), long);
  fs.copyFileSync(at("w"), at("c"));
  fs.copyFileSync(at("w"), at("w"));
  await promises.writeFile(at("p"), long);
  await promises.copyFile(at("w"), at("pc"), fs.constants.COPYFILE_EXCL);
  const refused = [told(() => fs.writeFileSync(at("w"), long, { flag: "wx" })), told(() => fs.copyFileSync(at("w"), at("c"), fs.constants.COPYFILE_EXCL))];
  const fd = fs.openSync(at("d"), "w");
  const count = fs.writeSync(fd, long);
  fs.closeSync(fd);
  const seen = [["w", "c", "p", "pc", "d", "short"].map(facts), fs.readFileSync(at("ä"), "utf8") === "ä".repeat(9e6), count, refused];
  fs.readdirSync(folder).forEach((name) => fs.rmSync(at(name)));
  return seen;
});
story("promises and callbacks do the same", async (fs, promises, folder) => {
  const file = path.join(folder, "p");
  await promises.writeFile(file, "one");
  await promises.appendFile(file, " two");
  const read = await new Promise((resolve, reject) => fs.readFile(file, "utf8", (fault, text) => (fault ? reject(fault) : resolve(text))));
  const failed = await new Promise((resolve) => fs.stat(`${file}x`, (fault) => resolve(fault.message)));
  const handle = await promises.open(file, "r+");
  const { bytesRead } = await handle.read(Buffer.alloc(3), 0, 3, 0);
  await handle.write("ONE", 0);
  await handle.close();
  await promises.mkdir(path.join(folder, "m/n"), { recursive: true });
  return [read, failed, bytesRead, await promises.readdir(folder), await promises.access(`${file}y`).catch((fault) => fault.code), (await promises.stat(file)).size];
});
story("streams", async (fs, promises, folder) => {
  const file = path.join(folder, "s");
  const out = fs.createWriteStream(file);
  out.write("abc");
  out.end("defghij");
  await new Promise((resolve) => out.on("close", resolve));
  const read = async (options) => {
    let text = "";
    for await (const chunk of fs.createReadStream(file, options)) text += chunk;
    return text;
  };
  const failed = await new Promise((resolve) => fs.createReadStream(`${file}x`).on("error", (fault) => resolve(fault.code)));
  return [await read({ encoding: "utf8" }), await read({ start: 2, end: 4 }), await read({ highWaterMark: 3 }), out.bytesWritten, failed];
});
test("an error of a stream that nobody listens to ends the call of the host, and the stream is closed all the same", async () => {
  const { failures } = await import("./host.js");
  for (const open of [ours.createReadStream, ours.createWriteStream]) {
    const before = failures.length;
    await new Promise((resolve) => open(path.join(os.tmpdir(), "pi-shims-nowhere", "x")).on("close", resolve));
    assert.deepEqual(failures.slice(before).map(({ code }) => code), ["ENOENT"], open.name);
  }
  const before = failures.length;
  await new Promise((resolve) => ours.createReadStream("/pi-shims-nowhere").on("error", () => {}).on("close", resolve));
  await new Promise((resolve) => ours.createReadStream("/pi-shims-nowhere").on("error", () => { throw new Error("a listener"); }).on("close", resolve));
  assert.deepEqual(failures.slice(before).map(({ message }) => message), ["a listener"]);
});
test("temporary folders are made where the host keeps them", () => {
  const folder = ours.mkdtempSync(path.join(os.tmpdir(), "pi-shims-made-"));
  assert.ok(theirs.statSync(folder).isDirectory() && folder.includes("pi-shims-made-"));
  ours.rmSync(folder, { recursive: true });
});
story("files are made with their permissions and told their times", async (fs, promises, folder) => {
  const file = (name) => path.join(folder, name);
  const facts = (name) => { const stats = theirs.statSync(file(name)); return [name, (stats.mode & 0o777).toString(8), stats.mtimeMs]; };
  const mode = (name) => (theirs.statSync(file(name)).mode & 0o777).toString(8);
  fs.writeFileSync(file("private"), "x", { mode: 0o600 });
  fs.appendFileSync(file("log"), "y", { mode: 0o640 });
  fs.writeFileSync(file("new"), "z", { mode: 0o400, flag: "wx" });
  fs.closeSync(fs.openSync(file("opened"), "w", 0o700));
  theirs.writeFileSync(file("old"), "o", { mode: 0o644 });
  fs.writeFileSync(file("old"), "p", { mode: 0o600 });
  const seen = ["private", "log", "new", "opened", "old"].map(mode);
  fs.utimesSync(file("private"), 1, 1234567890.123);
  fs.utimesSync(file("log"), new Date(5000), new Date(6005));
  await promises.utimes(file("new"), "10", "20");
  await new Promise((resolve, reject) => fs.utimes(file("opened"), 1, 2, (fault) => (fault ? reject(fault) : resolve())));
  const handle = await promises.open(file("old"), "r+");
  await handle.utimes(3, 4);
  await handle.close();
  theirs.symlinkSync(file("old"), file("link"));
  fs.lutimesSync(file("link"), 7, 8);
  const fd = fs.openSync(file("log"), "r");
  fs.futimesSync(fd, 9, 11);
  fs.closeSync(fd);
  return [seen, ["private", "log", "new", "opened", "old"].map(facts), theirs.lstatSync(file("link")).mtimeMs, told(() => fs.utimesSync(file("none"), 1, 2)), told(() => fs.utimesSync(file("old"), {}, 2))[2]];
});
test("what is private is so from its first moment on", async () => {
  const { asked } = await import("./host.js");
  const folder = fresh();
  ours.writeFileSync(path.join(folder, "key"), "secret", { mode: 0o600 });
  assert.deepEqual([asked.at(-1).op, asked.at(-1).permissions], ["write", 0o600]);
  theirs.rmSync(folder, { recursive: true });
});
