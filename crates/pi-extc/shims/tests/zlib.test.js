import { shim } from "./setup.js";
import assert from "node:assert/strict";
import test from "node:test";
import { promisify } from "node:util";
import theirs from "node:zlib";

const { default: ours } = await shim("node/zlib");
const { pipeline } = await shim("node/stream/promises");
const { Readable } = await shim("node/stream/readable");
const WAYS = [["gzip", "gunzip"], ["deflate", "inflate"], ["deflateRaw", "inflateRaw"], ["gzip", "unzip"], ["deflate", "unzip"]];
const TEXT = "The quick brown fox. ".repeat(500);

for (const [pack, unpack] of WAYS) {
  test(`${pack} and ${unpack} understand each other and Node`, async () => {
    assert.equal(String(ours[`${unpack}Sync`](theirs[`${pack}Sync`](TEXT))), TEXT);
    assert.equal(String(theirs[`${unpack}Sync`](ours[`${pack}Sync`](TEXT))), TEXT);
    assert.ok(ours[`${pack}Sync`](TEXT).length < 500);
    assert.equal(String(await promisify(ours[unpack])(await promisify(ours[pack])(Buffer.from(TEXT), { level: 9 }))), TEXT);
    const create = (name) => ours[`create${name[0].toUpperCase()}${name.slice(1)}`]();
    const parts = [];
    const last = create(unpack);
    last.on("data", (chunk) => parts.push(chunk));
    await pipeline(Readable.from([TEXT.slice(0, 99), TEXT.slice(99)]), create(pack), last);
    assert.equal(Buffer.concat(parts).toString(), TEXT);
  });
}
test("what cannot be unpacked says why, as in Node", () => {
  const told = (act) => {
    try {
      return act().length;
    } catch ({ code, errno }) {
      return { code, errno };
    }
  };
  const packed = theirs.gzipSync(TEXT);
  for (const act of [(own) => own.gunzipSync(Buffer.from("not packed")), (own) => own.gunzipSync(packed.subarray(0, 30)), (own) => own.inflateSync(packed), (own) => own.gunzipSync(packed, { maxOutputLength: 10 }), (own) => own.gunzipSync(7)]) {
    assert.deepEqual(told(() => act(ours)), told(() => act(theirs)));
  }
});
test("a stream that is driven by hand, as minizlib does, gives all with its last part", () => {
  for (const [pack, unpack] of WAYS) {
    const driven = (zlib, name, bytes) => {
      const own = new zlib[name[0].toUpperCase() + name.slice(1)]();
      own._handle.close = () => {};
      const parts = [[bytes.subarray(0, 9), 0], [bytes.subarray(9), 0], [Buffer.alloc(0), 4]].map(([part, flush]) => own._processChunk(part, flush));
      return Buffer.concat(parts);
    };
    assert.equal(String(driven(ours, unpack, driven(ours, pack, Buffer.from(TEXT)))), TEXT, unpack);
  }
  assert.throws(() => new ours.Gunzip()._processChunk(Buffer.from("no gzip at all"), 4), { code: "Z_DATA_ERROR" });
});
test("crc32", () => assert.deepEqual([ours.crc32("hello"), ours.crc32(" world", ours.crc32("hello"))], [0x3610a686, 0x0d4a1185]));
