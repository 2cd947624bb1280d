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
test("temporary folders are made where the host keeps them", () => {
  const folder = ours.mkdtempSync(path.join(os.tmpdir(), "pi-shims-made-"));
  assert.ok(theirs.statSync(folder).isDirectory() && folder.includes("pi-shims-made-"));
  ours.rmSync(folder, { recursive: true });
});
