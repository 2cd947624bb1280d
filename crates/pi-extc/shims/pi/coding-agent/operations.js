// The built-in tools over operations that an extension brings: files and shells that may be on another machine.
import host from "pi:host";
import { DEFAULT_MAX_BYTES, formatSize, truncateHead, truncateTail } from "pi:shim/pi/coding-agent/truncate";

const said = (text, details) => ({ content: [{ type: "text", text }], details });
const checkAborted = (signal) => { if (signal?.aborted) throw new Error("Operation aborted"); };
const textOf = (bytes) => (typeof bytes === "string" ? bytes : host.utf8Decode(bytes, false));

export function getShellConfig(shellPath) {
  return { shell: shellPath ?? "/bin/bash", args: ["-c"] };
}

/** Processes of this machine, through the host's `exec`. */
export function createLocalBashOperations(options = {}) {
  return {
    exec: (command, cwd, { onData, signal, timeout, env }) => new Promise((resolve, reject) => {
      const { spawn } = host.load("pi:shim/node/child_process");
      const { shell, args } = getShellConfig(options.shellPath);
      const child = spawn(shell, [...args, command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      let isLate = false;
      const { clearTimeout, setTimeout } = host.load("pi:shim/node/timers");
      const timer = timeout > 0 ? setTimeout(() => { isLate = true; child.kill("SIGKILL"); }, timeout * 1000) : undefined;
      const onAbort = () => child.kill("SIGKILL");
      if (signal?.aborted) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      child.stdout.on("data", onData);
      child.stderr.on("data", onData);
      const over = (settle, value) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        settle(value);
      };
      child.on("error", (fault) => over(reject, fault));
      child.on("close", (exitCode) => {
        if (signal?.aborted) over(reject, new Error("aborted"));
        else if (isLate) over(reject, new Error(`timeout:${timeout}`));
        else over(resolve, { exitCode });
      });
    }),
  };
}

export async function bashOver(folder, options, { command, timeout }, signal, onUpdate) {
  const operations = options.operations ?? createLocalBashOperations(options);
  const prefixed = options.commandPrefix ? `${options.commandPrefix}\n${command}` : command;
  const asked = { command: prefixed, cwd: folder, env: { ...host.load("pi:shim/node/process/environment").environment } };
  const context = options.spawnHook ? options.spawnHook(asked) : asked;
  const decoder = new (host.load("pi:shim/node/string_decoder").StringDecoder)("utf8");
  let output = "";
  const onData = (chunk) => {
    output += decoder.write(chunk);
    const cut = truncateTail(output);
    onUpdate?.({ content: [{ type: "text", text: cut.content }], details: cut.truncated ? { truncation: cut } : undefined });
  };
  let end = "";
  let exitCode = null;
  try {
    ({ exitCode } = await operations.exec(context.command, context.cwd, { onData, signal, timeout, env: options.spawnHook ? context.env : undefined }));
    if (exitCode !== 0 && exitCode !== null) end = `Command exited with code ${exitCode}`;
  } catch (fault) {
    if (fault.message === "aborted" || signal?.aborted) end = "Command aborted";
    else if (/^timeout:/.test(fault.message)) end = `Command timed out after ${fault.message.slice(8)} seconds`;
    else throw fault;
  }
  const { text, details } = await finished(output);
  if (end !== "") throw new Error(`${text === "(no output)" && exitCode === null ? "" : `${text}\n\n`}${end}`);
  return said(text, details);
}

/** The end of the output; all of it goes to a file if that is not everything. */
async function finished(output) {
  const cut = truncateTail(output);
  if (!cut.truncated) return { text: cut.content || "(no output)", details: undefined };
  const fs = host.load("pi:shim/node/fs").default;
  const { join } = host.load("pi:shim/node/path");
  const name = Array.from(host.unique(8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const fullOutputPath = join(host.place.tempDir, `pi-bash-${name}.log`);
  await fs.promises.writeFile(fullOutputPath, output);
  const first = cut.totalLines - cut.outputLines + 1;
  const limit = cut.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : "";
  return { text: `${cut.content}\n\n[Showing lines ${first}-${cut.totalLines} of ${cut.totalLines}${limit}. Full output: ${fullOutputPath}]`, details: { truncation: cut, fullOutputPath } };
}

export async function readOver(folder, { operations }, { path, offset, limit }, signal) {
  checkAborted(signal);
  await operations.access?.(path);
  const mimeType = await operations.detectImageMimeType?.(path);
  const bytes = await operations.readFile(path);
  checkAborted(signal);
  if (mimeType) {
    const data = host.load("pi:shim/node/buffer").Buffer.from(bytes).toString("base64");
    return { content: [{ type: "text", text: `Read image file [${mimeType}]` }, { type: "image", data, mimeType }], details: undefined };
  }
  const lines = textOf(bytes).split("\n");
  const start = Math.max(0, (offset ?? 1) - 1);
  if (start >= lines.length) throw new Error(`Offset ${offset} is beyond end of file (${lines.length} lines total)`);
  const asked = limit === undefined ? lines.slice(start) : lines.slice(start, start + limit);
  const cut = truncateHead(asked.join("\n"));
  if (cut.firstLineExceedsLimit) return said(`[Line ${start + 1} is longer than ${formatSize(DEFAULT_MAX_BYTES)}; read a part of it with bash: sed -n '${start + 1}p' ${path} | head -c ${DEFAULT_MAX_BYTES}]`, { truncation: cut });
  const last = start + cut.outputLines;
  if (cut.truncated) return said(`${cut.content}\n\n[Showing lines ${start + 1}-${last} of ${lines.length}${cut.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : ""}. Use offset=${last + 1} to continue.]`, { truncation: cut });
  const left = lines.length - start - asked.length;
  return said(left > 0 ? `${cut.content}\n\n[${left} more lines in file. Use offset=${last + 1} to continue.]` : cut.content, undefined);
}

export async function writeOver(folder, { operations }, { path, content }, signal) {
  checkAborted(signal);
  await operations.mkdir(host.load("pi:shim/node/path").dirname(path));
  await operations.writeFile(path, content);
  return said(`Successfully wrote ${content.length} bytes to ${path}`, undefined);
}

/** Every text is looked for in the file as it is; places must be single and apart. */
export async function editOver(folder, { operations }, { path, edits }, signal) {
  checkAborted(signal);
  await operations.access?.(path);
  const source = textOf(await operations.readFile(path));
  const mark = source.startsWith("\ufeff") ? "\ufeff" : "";
  const isWindows = /\r\n/.test(source);
  const text = source.slice(mark.length).replace(/\r\n/g, "\n");
  const places = edits.map(({ oldText, newText }, at) => {
    const wanted = oldText.replace(/\r\n/g, "\n");
    const start = text.indexOf(wanted);
    if (wanted === "" || start < 0) throw new Error(`Could not find edits[${at}].oldText in ${path}; it must be copied exactly from the file`);
    if (text.indexOf(wanted, start + 1) >= 0) throw new Error(`edits[${at}].oldText occurs more than once in ${path}; make it longer until it is unique`);
    return { start, end: start + wanted.length, newText: newText.replace(/\r\n/g, "\n") };
  }).sort((one, other) => one.start - other.start);
  if (places.some((own, at) => at > 0 && own.start < places[at - 1].end)) throw new Error(`the edits of ${path} overlap; give them as one`);
  const made = places.reduceRight((own, { start, end, newText }) => own.slice(0, start) + newText + own.slice(end), text);
  if (made === text) throw new Error(`the edits of ${path} change nothing`);
  await operations.writeFile(path, mark + (isWindows ? made.replace(/\n/g, "\r\n") : made));
  const { diffLines } = host.load("pi:shim/pi/coding-agent/diff");
  return said(`Successfully replaced ${edits.length} block(s) in ${path}.`, diffLines(text, made));
}

export async function lsOver(folder, { operations }, { path = folder, limit = 500 }) {
  const { join } = host.load("pi:shim/node/path");
  const names = (await operations.readdir(path)).sort((one, other) => one.toLowerCase().localeCompare(other.toLowerCase()));
  const shown = [];
  for (const name of names.slice(0, limit)) shown.push((await operations.stat(join(path, name))).isDirectory() ? `${name}/` : name);
  return said(shown.join("\n") || "(empty directory)", names.length > limit ? { entryLimitReached: limit } : undefined);
}
