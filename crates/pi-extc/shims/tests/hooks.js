// Resolves `pi:host` to the double in host.js and `pi:shim/…` to the shim's file, so that shims run under Node.
const root = new URL("../", import.meta.url);

export async function resolve(specifier, context, next) {
  if (specifier === "pi:host") return { url: new URL("tests/host.js", root).href, shortCircuit: true };
  if (specifier.startsWith("pi:shim/")) {
    return { url: new URL(`${specifier.slice("pi:shim/".length)}.js`, root).href, shortCircuit: true };
  }
  return next(specifier, context);
}
