/** The viewer as one file, built and packed as for the binary. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { toHtml } from "../../src/envelope/model/save";

const WEB = fileURLToPath(new URL("../..", import.meta.url));

/** The shell that data is put into; `PI_VIEWER` names one that was built already. */
export function shell(): string {
  const given = process.env["PI_VIEWER"];
  if (given !== undefined) {
    return readFileSync(given, "utf8");
  }
  const folder = join(tmpdir(), `pi-viewer-${process.ppid}`);
  const file = join(folder, "packed", "viewer.html");
  if (!existsSync(file)) {
    mkdirSync(join(folder, "dist"), { recursive: true });
    const vite = join(WEB, "node_modules", "vite", "bin", "vite.js");
    execFileSync("node", [vite, "build", "--config", "vite.viewer.config.ts", "--outDir", join(folder, "dist-viewer"), "--emptyOutDir"], { cwd: WEB, stdio: "pipe" });
    execFileSync("node", [join(WEB, "build", "pack.mjs"), "packed"], { cwd: folder, stdio: "pipe" });
  }
  return readFileSync(file, "utf8");
}

let count = 0;

/** Writes a page with data in it and returns its address. */
export function page(data: unknown): string {
  const folder = join(tmpdir(), `pi-viewer-${process.ppid}`, "pages");
  mkdirSync(folder, { recursive: true });
  count += 1;
  const file = join(folder, `${process.pid}-${count}.html`);
  writeFileSync(file, toHtml(shell(), data));
  return pathToFileURL(file).href;
}

/** Envelopes as files that the page brings along. */
export function files(...envelopes: unknown[]): unknown {
  return { files: envelopes.map((envelope, index) => ({ name: `request-${index + 1}.json`, text: JSON.stringify(envelope) })) };
}
