// A double of `pi:host` on Node: the real file system, processes and network, and nothing that asks for leave.
// It answers as crates/pi-extproto/src/connector spells parameters and outputs.
import { execFile, spawn, spawnSync } from "node:child_process";
import crypto, { createHash, createHmac, randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";

export const loaded = new Map();
/** What the shims wrote to the log, newest last. */
export const written = [];
/** What was asked of files, newest last. */
export const asked = [];
/** The streams that were opened, as [method, params], newest last. */
export const opened = [];
/** What ended a call of the extension, newest last. */
export const failures = [];
/** Answers of `session` and `tool` calls, set by tests: (params) => output. */
export const answers = { session: undefined, tool: undefined };

class HostFault extends Error {
  name = "HostFault";
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

const data = (buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
const kind = (entry) => (entry.isSymbolicLink() ? "link" : entry.isDirectory() ? "directory" : entry.isFile() ? "file" : "other");
const at = (file) => path.resolve(place.cwd, file);

const fileCalls = {
  read({ path: file, offset, limit }) {
    if (offset === undefined && limit === undefined) return { content: data(fs.readFileSync(at(file))) };
    const bytes = fs.readFileSync(at(file)).subarray(offset ?? 0);
    return { content: data(limit === undefined ? bytes : bytes.subarray(0, limit)) };
  },
  list: ({ path: file }) => ({ entries: fs.readdirSync(at(file), { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kind(entry) })) }),
  stat({ path: file, follow_links }) {
    try {
      const stats = follow_links ? fs.statSync(at(file)) : fs.lstatSync(at(file));
      return { info: { kind: kind(stats), size: stats.size, modified_ms: Math.trunc(stats.mtimeMs), mode: stats.mode & 0o7777 } };
    } catch (fault) {
      if (fault.code === "ENOENT" || fault.code === "ENOTDIR") return {};
      throw fault;
    }
  },
  resolve: ({ path: file }) => ({ path: fs.realpathSync(at(file)) }),
  write({ path: file, content, mode, permissions }) {
    fs.writeFileSync(at(file), content, { flag: mode === "create_new" ? "wx" : "w", mode: permissions });
    return {};
  },
  append({ path: file, content }) {
    fs.appendFileSync(at(file), content);
    return {};
  },
  make_directory({ path: file, parents }) {
    fs.mkdirSync(at(file), { recursive: parents });
    return {};
  },
  make_temporary: ({ prefix }) => ({ path: fs.mkdtempSync(path.join(os.tmpdir(), prefix)) }),
  remove({ path: file, recursive }) {
    const stats = fs.lstatSync(at(file));
    if (stats.isDirectory() && !recursive) fs.rmdirSync(at(file));
    else fs.rmSync(at(file), { recursive });
    return {};
  },
  rename({ from, to }) {
    fs.renameSync(at(from), at(to));
    return {};
  },
  set_times({ path: file, accessed_ms, modified_ms, follow_links }) {
    (follow_links ? fs.utimesSync : fs.lutimesSync)(at(file), accessed_ms / 1000, modified_ms / 1000);
    return {};
  },
  set_mode({ path: file, mode }) {
    fs.chmodSync(at(file), mode);
    return {};
  },
};

/** What one call may bring: less than at the real host, so that the tests are quick. */
const LONGEST = 10 * 1024 * 1024;

function run(method, params) {
  checkSpelling(params);
  if (params.content?.length > LONGEST) throw new HostFault("io", "params limit");
  if (method === "fs") {
    asked.push(params);
    try {
      return fileCalls[params.op](params);
    } catch (fault) {
      throw new HostFault("io", fault.message, { errno: fault.code });
    }
  }
  if (method === "env") return params.op === "get" ? variable(params.name) : { names: Object.keys(process.env) };
  if (method === "log") return written.push(["log", params.message]), {};
  if (answers[method]) return answers[method](params);
  throw new HostFault("invalid_request", `the double has no ${method}`);
}

// The real host refuses members without a value.
function checkSpelling(params) {
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) throw new HostFault("invalid_request", `params.${name}: expected a value, found ${value}`);
  }
}

// A secret that somebody named is read, and no process gets it by itself.
const isSecret = (name) => name.endsWith("_SECRET");
function variable(name) {
  const value = process.env[name];
  return value === undefined ? {} : { value, ...(isSecret(name) && { is_withheld: true }) };
}

function environmentOf({ env, unset = [], bare = false }) {
  const inherited = bare ? { PATH: process.env.PATH } : Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSecret(name)));
  for (const name of unset) delete inherited[name];
  return { ...inherited, ...env };
}

function exec(params) {
  checkSpelling(params);
  const { command, args, cwd, stdin, timeout_ms, max_output_bytes } = params;
  const result = spawnSync(command, args, { cwd: cwd ?? place.cwd, env: environmentOf(params), input: stdin, timeout: timeout_ms, maxBuffer: max_output_bytes ?? Infinity });
  if (result.error?.code === "ENOENT") throw new HostFault("io", result.error.message, { errno: "ENOENT" });
  const exit = { killed: result.signal !== null && result.error !== undefined };
  if (result.status !== null) exit.code = result.status;
  else exit.signal = result.signal;
  return { stdout: data(result.stdout), stderr: data(result.stderr), exit, truncated: result.error?.code === "ENOBUFS" };
}

function open(method, params, options) {
  checkSpelling(params);
  opened.push([method, params]);
  const queue = [];
  const waiting = [];
  const push = (item) => (waiting.length > 0 ? waiting.shift()(item) : queue.push(item));
  let stop = () => {};
  let [input, told] = [];
  const end = (value) => {
    push(() => ({ done: false, value }));
    push(() => ({ done: true, value: undefined }));
  };
  const fail = (fault) => push(() => { throw new HostFault("io", fault.message, { errno: fault.code ?? fault.cause?.code }); });
  if (method === "exec") {
    const child = spawn(params.command, params.args, { cwd: params.cwd ?? place.cwd, env: environmentOf(params), timeout: params.timeout_ms });
    let killed = false;
    stop = () => { killed = true; child.kill(); };
    child.on("error", fail);
    if (params.announce) child.on("spawn", () => push(() => ({ done: false, value: { item: "piece", channel: "stdout", data: data(Buffer.alloc(0)) } })));
    told = (name) => child.kill(name);
    for (const channel of ["stdout", "stderr"]) child[channel].on("data", (chunk) => push(() => ({ done: false, value: { item: "piece", channel, data: data(chunk) } })));
    child.on("close", (code, signal) => end({ item: "end", exit: { ...(code !== null ? { code } : { signal }), killed }, truncated: false }));
    if (params.stdin !== undefined) child.stdin.write(params.stdin);
    child.stdin.on("error", () => {});
    if (options?.isWritten) input = child.stdin;
    else child.stdin.end();
  } else if (method === "session") {
    (async () => {
      const { steps = [], message } = answers.session(params);
      for (const told of [...steps, { message }]) push(() => ({ done: false, value: { item: "piece", channel: "body", data: JSON.stringify(told) } }));
      end({ item: "end", truncated: false });
    })().catch((fault) => push(() => { throw fault; }));
  } else {
    const controller = new AbortController();
    stop = () => controller.abort();
    (async () => {
      const response = await fetch(params.url, { method: params.method, headers: params.headers.map(({ name, value }) => [name, value]), body: params.body, redirect: params.follow_redirects ? "follow" : "manual", signal: controller.signal });
      push(() => ({ done: false, value: { item: "head", status: response.status, url: response.url, headers: [...response.headers].map(([name, value]) => ({ name, value })) } }));
      for await (const chunk of response.body ?? []) push(() => ({ done: false, value: { item: "piece", channel: "body", data: chunk } }));
      end({ item: "end", truncated: false });
    })().catch(fail);
  }
  return {
    next: async () => (queue.length > 0 ? queue.shift() : await new Promise((resolve) => waiting.push(resolve)))(),
    cancel: () => stop(),
    write: (bytes) => new Promise((resolve, reject) => input.write(bytes, (fault) => (fault ? reject(new HostFault("io", fault.message)) : resolve()))),
    end: () => input.end(),
    signal: (name) => told(name),
  };
}

function execLater(params, options) {
  return new Promise((resolve, reject) => {
    const child = execFile(params.command, params.args, { cwd: params.cwd ?? place.cwd, env: environmentOf(params), timeout: params.timeout_ms, encoding: "buffer", maxBuffer: params.max_output_bytes ?? 1e9 }, (fault, stdout, stderr) => {
      if (fault?.code === "ENOENT") return reject(new HostFault("io", fault.message, { errno: "ENOENT" }));
      const exit = { killed: child.killed };
      if (child.exitCode !== null) exit.code = child.exitCode;
      resolve({ stdout: data(stdout), stderr: data(stderr), exit, truncated: fault?.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER" });
    });
    options?.cancel?.on(() => child.kill());
    child.stdin.end(params.stdin);
  });
}

// Keys as the host gets them, as Node wants them.
const inJwk = (bytes) => Buffer.from(bytes).toString("base64url");
function pointOf(kind, point) {
  const half = (point.length - 1) / 2;
  return { kty: "EC", crv: kind.startsWith("p256") ? "P-256" : "P-384", x: inJwk(point.subarray(1, 1 + half)), y: inJwk(point.subarray(1 + half)) };
}
function privateOf(kind, [first, point]) {
  if (kind === "ed25519") return crypto.createPrivateKey({ key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), first]), format: "der", type: "pkcs8" });
  if (kind.startsWith("rsa")) return crypto.createPrivateKey({ key: Buffer.from(first), format: "der", type: "pkcs1" });
  return crypto.createPrivateKey({ key: { ...pointOf(kind, point), d: inJwk(first) }, format: "jwk" });
}
function publicOf(kind, key) {
  if (kind === "ed25519") return crypto.createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: inJwk(key) }, format: "jwk" });
  if (kind.startsWith("rsa")) return crypto.createPublicKey({ key: Buffer.from(key), format: "der", type: "pkcs1" });
  return crypto.createPublicKey({ key: pointOf(kind, key), format: "jwk" });
}
function signatureOf(kind, key) {
  if (kind === "ed25519") return [null, key];
  const digest = /sha\d+/.exec(kind)[0];
  return [digest, { key, ...(kind.endsWith("fixed") && { dsaEncoding: "ieee-p1363" }), ...(kind.includes("pss") && { padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: crypto.constants.RSA_PSS_SALTLEN_DIGEST }) }];
}

// The host's cipher counts in as many bits as it is told; Node's does so in all.
function cipher(mode, isEncrypting, key, start) {
  const made = (isEncrypting ? crypto.createCipheriv : crypto.createDecipheriv)(`aes-${key.length * 8}-${mode}`, key, mode === "ecb" ? null : start);
  // The host tells the seal, and compares none: to decipher once more is to make it again.
  const again = mode === "gcm" && !isEncrypting ? crypto.createCipheriv(`aes-${key.length * 8}-gcm`, key, start) : undefined;
  return {
    accompany(bytes) {
      made.setAAD(bytes);
      again?.setAAD(bytes);
    },
    update(bytes, isPadded) {
      if (mode === "cbc" || mode === "ecb") made.setAutoPadding(isPadded);
      const done = made.update(bytes);
      again?.update(done);
      return data(done);
    },
    finish(isPadded) {
      if (again) return again.final(), { bytes: new Uint8Array(0), tag: data(again.getAuthTag()) };
      try {
        made.setAutoPadding(isPadded);
        const bytes = data(made.final());
        return mode === "gcm" ? { bytes, tag: data(made.getAuthTag()) } : { bytes };
      } catch ({ code }) {
        return { fault: code === "ERR_OSSL_BAD_DECRYPT" ? "padding" : "length" };
      }
    },
  };
}

const place = Object.freeze({
  cwd: process.cwd(), agentDir: path.join(os.homedir(), ".pi/agent"), extensionDir: "/extension", entry: "/extension/index.ts",
  dataDir: path.join(os.tmpdir(), "pi-shims-data"), tempDir: os.tmpdir(), homeDir: os.homedir(), platform: process.platform, arch: process.arch,
  pid: process.pid, user: process.getuid && { uid: process.getuid(), gid: process.getgid() }, execPath: process.execPath, argv: [process.execPath, "pi"], hostname: os.hostname(), versions: { node: "20.20.2", pi: "0.73.1" },
});

let lastTimer = 0;
const timers = new Map();

export default Object.freeze({
  place,
  call: async (method, params, options) => (method === "exec" ? execLater(params, options) : run(method, params)),
  callSync: (method, params) => (method === "exec" ? exec(params) : run(method, params)),
  open,
  cancelToken() {
    const listeners = [];
    return { cancel: () => listeners.forEach((listener) => listener()), on: (listener) => listeners.push(listener) };
  },
  load(specifier) {
    const found = loaded.get(specifier);
    if (!found) throw new Error(`${specifier} was not loaded by setup.js`);
    return found;
  },
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(fn, ms, repeat) {
    const id = ++lastTimer;
    timers.set(id, repeat ? setInterval(fn, ms) : setTimeout(() => { timers.delete(id); fn(); }, ms));
    return id;
  },
  clearTimer(id) {
    clearTimeout(timers.get(id));
    clearImmediate(timers.get(id));
    timers.delete(id);
  },
  refTimer: (id, on) => (on ? timers.get(id)?.ref() : timers.get(id)?.unref()),
  immediate(fn) {
    const id = ++lastTimer;
    timers.set(id, setImmediate(() => { timers.delete(id); fn(); }));
    return id;
  },
  warn: (text) => void written.push(["warn", text]),
  failing: () => (thrown) => void failures.push(thrown),
  random: (n) => data(randomBytes(n)),
  unique: (n) => data(randomBytes(n)),
  digest: (algorithm, bytes) => data(createHash(algorithm).update(bytes).digest()),
  hmac: (algorithm, key, bytes) => data(createHmac(algorithm, key).update(bytes).digest()),
  cipher,
  pbkdf2: (algorithm, password, salt, rounds, length) => data(crypto.pbkdf2Sync(password, salt, rounds, length, algorithm)),
  scrypt: (password, salt, [N, r, p], length) => (128 * N * r > LONGEST * 20 ? { fault: "memory" } : { bytes: data(crypto.scryptSync(password, salt, length, { N, r, p, maxmem: 2 ** 40 })) }),
  sign: (kind, key, bytes) => data(crypto.sign(...signatureOf(kind, privateOf(kind, key)).toSpliced(1, 0, bytes))),
  verify: (kind, key, bytes, made) => crypto.verify(...signatureOf(kind, publicOf(kind, key)).toSpliced(1, 0, bytes), made),
  publicKeyOf: (seed) => data(crypto.createPublicKey(privateOf("ed25519", [seed])).export({ type: "spki", format: "der" }).subarray(-32)),
  ecKeyPair: (curve) => data(crypto.generateKeyPairSync("ec", { namedCurve: { p256: "P-256", p384: "P-384" }[curve] }).privateKey.export({ type: "pkcs8", format: "der" })),
  deflate: (form, bytes, level) => data({ gzip: zlib.gzipSync, deflate: zlib.deflateSync, "deflate-raw": zlib.deflateRawSync }[form](bytes, { level })),
  inflate(form, bytes, most) {
    try {
      return { bytes: data({ gzip: zlib.gunzipSync, deflate: zlib.inflateSync, "deflate-raw": zlib.inflateRawSync }[form](bytes, { maxOutputLength: most })) };
    } catch ({ code }) {
      return { fault: { ERR_BUFFER_TOO_LARGE: "size", Z_BUF_ERROR: "end" }[code] ?? "data" };
    }
  },
  utf8Encode: (text) => new TextEncoder().encode(text),
  utf8Decode: (bytes, fatal) => new TextDecoder("utf-8", { fatal, ignoreBOM: true }).decode(bytes),
  base64Encode: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  base64Decode(text) {
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) throw new HostFault("invalid_request", "not base64");
    return new Uint8Array(Buffer.from(text, "base64"));
  },
  textWidth(text) {
    let width = 0;
    for (const { segment } of new Intl.Segmenter().segment(text)) width += widthOf(segment);
    return width;
  },
  graphemes: (text) => Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment),
  timeZone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  zoneName(zone) {
    try {
      return Intl.DateTimeFormat("en-US", { timeZone: zone }).resolvedOptions().timeZone;
    } catch {
      return undefined;
    }
  },
  zoneOffset: (zone, ms) => (Date.parse(`${new Date(ms).toLocaleString("sv-SE", { timeZone: zone }).replace(" ", "T")}Z`) - Math.floor(ms / 1000) * 1000) / 1000,
  isSummer: (zone, ms) => /DT$/.test(new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "short" }).format(ms)),
  write: (stream, text) => written.push([stream, text]),
});

function widthOf(grapheme) {
  const code = grapheme.codePointAt(0);
  if (code < 32 || (code >= 0x7f && code < 0xa0) || /^\p{Mark}|^\p{Default_Ignorable_Code_Point}/u.test(grapheme)) return 0;
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(grapheme)) return 2;
  return /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(grapheme) || (code >= 0x20000 && code <= 0x3fffd) ? 2 : 1;
}
