// Imported first by every test: installs the resolver, and finds the real packages to compare with, where they are installed.
import { createRequire, register } from "node:module";

register("./hooks.js", import.meta.url);

/** A shim, by the path that others import it with. */
export const shim = (path) => import(`pi:shim/${path}`);

/**
 * A package of the reference folder (`PI_SHIMS_REFERENCE`, where the real packages are installed), or `undefined`: tests
 * that compare with it say that they were skipped.
 */
export async function reference(name) {
  const folder = process.env.PI_SHIMS_REFERENCE ?? "/tmp/shims-ref";
  try {
    const resolve = createRequire(`${folder}/package.json`).resolve;
    return await import(resolve(name));
  } catch (fault) {
    if (fault.code !== "MODULE_NOT_FOUND" && fault.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw fault;
    return importByFolder(folder, name);
  }
}

// Packages that export to `import` alone cannot be resolved by `require`.
async function importByFolder(folder, name) {
  const { existsSync, readFileSync } = await import("node:fs");
  const [, base, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.+)?$/.exec(name);
  const manifest = `${folder}/node_modules/${base}/package.json`;
  if (!existsSync(manifest)) return undefined;
  const entry = JSON.parse(readFileSync(manifest, "utf8")).exports?.[rest ? `.${rest}` : "."];
  const file = typeof entry === "string" ? entry : (entry?.import?.default ?? entry?.import ?? entry?.default);
  return file ? import(`file://${folder}/node_modules/${base}/${file}`) : undefined;
}

// `host.load` is synchronous and importing is not: everything is loaded beforehand.
const { loaded } = await import("./host.js");
const { globSync } = await import("./files.js");
await Promise.all(globSync().map(async (path) => loaded.set(`pi:shim/${path}`, await import(`pi:shim/${path}`))));
