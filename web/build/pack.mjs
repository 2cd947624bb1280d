/**
 * Prepares what Vite built for being embedded: `pack.mjs FOLDER` writes every file, its brotli form where that is smaller, a list of
 * them, and the shell of the self-contained viewer into FOLDER.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  throw new Error("pack.mjs FOLDER");
}

const digest = (bytes, form) => createHash("sha256").update(bytes).digest(form);

const compress = (bytes) =>
  brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const names = (await readdir("dist", { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice("dist/".length))
  .sort();
const lines = [];
for (const [number, name] of names.entries()) {
  const bytes = await readFile(join("dist", name));
  const small = compress(bytes);
  await writeFile(join(folder, `${number}`), bytes);
  const isSmaller = small.length < bytes.length * 0.95;
  if (isSmaller) {
    await writeFile(join(folder, `${number}.br`), small);
  }
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  // Vite puts a digest into the name of everything below `assets`: such a name never means anything else.
  const isImmutable = name.startsWith("assets/");
  lines.push([name, type, digest(bytes, "hex").slice(0, 32), isImmutable, isSmaller].join("\t"));
}
if (existsSync("dist-viewer/viewer.js")) {
  // The end of an element must not stand in it.
  const script = (await readFile("dist-viewer/viewer.js", "utf8")).replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
  const style = existsSync("dist-viewer/viewer.css") ? await readFile("dist-viewer/viewer.css", "utf8") : "";
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${digest(script, "base64")}'`,
    `style-src 'sha256-${digest(style, "base64")}'`,
    "img-src data: blob:",
    "media-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="pi">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>pi</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<script type="application/json" id="pi-data">@PI-DATA@</script>
<script>${script}</script>
</body>
</html>
`;
  await writeFile(join(folder, "viewer.html"), shell);
  // The page fetches it to save what it shows as a file of its own.
  const small = compress(Buffer.from(shell));
  await writeFile(join(folder, `${names.length}`), shell);
  await writeFile(join(folder, `${names.length}.br`), small);
  lines.push(["viewer.html", TYPES[".html"], digest(shell, "hex").slice(0, 32), false, true].join("\t"));
}
await writeFile(join(folder, "files.txt"), lines.map((line) => `${line}\n`).join(""));
