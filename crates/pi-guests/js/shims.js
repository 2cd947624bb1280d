// The one module that a bundle imports: shims by their specifiers, packages that are not there, and places of sources.
import host from "pi:host";
import { facade, isCallable, laterFacade, missing } from "pi:shim/facade";

const SHIM = "pi:shim/";
const facades = new Map();

/** What the bundle sees of a shim. Most are loaded when something of them is first looked at. */
export function shim(specifier, name = specifier.replace(/^pi:shim\/(?:node\/)?/, "")) {
  const key = `${specifier}\0${name}`;
  if (!facades.has(key)) facades.set(key, isCallable(specifier.slice(SHIM.length)) ? facade(host.load(specifier), name) : laterFacade(() => host.load(specifier), name));
  return facades.get(key);
}

export { missing };

const address = (path) => `file://${path.startsWith("/") ? "" : "/"}${path.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":")}`;
const folder = (path) => path.slice(0, Math.max(path.lastIndexOf("/"), 1));

/** Where one of the extension's own files was, by its path relative to the extension: what `import.meta` says. */
export function place(relative) {
  const filename = `${host.place.extensionDir.replaceAll("\\", "/")}/${relative}`;
  const url = address(filename);
  return Object.freeze({ url, filename, dirname: folder(filename), main: false, resolve: (specifier) => new URL(specifier, url).href });
}
