// What an extension can import, and the shim that it gets: the table behind modules.json (tests/write-modules.js writes it)
// and behind `createRequire`.

const NODE = `
  assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises events
  fs fs/promises http http2 https inspector module net os path path/posix path/win32 perf_hooks process punycode querystring readline
  readline/promises repl sqlite stream stream/consumers stream/promises stream/web string_decoder sys test timers timers/promises tls tty url
  util util/types v8 vm worker_threads zlib
`.trim().split(/\s+/);

/** Node has these under their prefix only. */
const PREFIXED = new Set(["sqlite", "test"]);

const PI = {
  "pi-coding-agent": "pi/coding-agent",
  "pi-coding-agent/hooks": "pi/coding-agent",
  "pi-tui": "pi/tui",
  "pi-agent-core": "pi/agent-core",
  "pi-ai": "pi/ai",
  "pi-ai/oauth": "pi/ai/oauth",
  "pi-ai/compat": "pi/ai",
  "pi-ai/models": "pi/ai",
  "pi-ai/providers/all": "pi/ai",
  "pi-ai/anthropic": "pi/ai",
  "pi-ai/azure-openai-responses": "pi/ai",
  "pi-ai/google": "pi/ai",
  "pi-ai/google-vertex": "pi/ai",
  "pi-ai/mistral": "pi/ai",
  "pi-ai/openai-codex-responses": "pi/ai",
  "pi-ai/openai-completions": "pi/ai",
  "pi-ai/openai-responses": "pi/ai",
  "pi-ai/bedrock-provider": "pi/ai",
};

const TYPEBOX = {
  "@sinclair/typebox": "typebox/type",
  "@sinclair/typebox/type": "typebox/type",
  "@sinclair/typebox/value": "typebox/value",
  "@sinclair/typebox/compiler": "typebox/compiler",
  "@sinclair/typebox/errors": "typebox/value",
  "@sinclair/typebox/system": "typebox/system",
  "@sinclair/typebox/format": "typebox/system",
  typebox: "typebox/type",
  "typebox/type": "typebox/type",
  "typebox/value": "typebox/value",
  "typebox/compile": "typebox/compile",
  "typebox/schema": "typebox/compile",
  "typebox/error": "typebox/value",
  "typebox/system": "typebox/system",
  "typebox/format": "typebox/system",
};

const names = {};
for (const name of NODE) {
  if (!PREFIXED.has(name)) names[name] = `node/${name}`;
  names[`node:${name}`] = `node/${name}`;
}
for (const scope of ["@mariozechner", "@earendil-works"]) for (const [name, path] of Object.entries(PI)) names[`${scope}/${name}`] = path;
// The older scope ends with one version, the newer goes on from it.
for (const name of ["pi-coding-agent", "pi-coding-agent/hooks"]) names[`@earendil-works/${name}`] = "pi/coding-agent/newer";
// Its own code can do nothing here but load: it opens sockets.
names.undici = "web/undici";
Object.assign(names, TYPEBOX);
export default Object.freeze(names);
