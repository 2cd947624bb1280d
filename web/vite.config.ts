import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// `pi-client` is taken from its source beside this folder: one build, and no copy that can grow old.
const client = fileURLToPath(new URL("../clients/typescript/src/index.ts", import.meta.url));

export default defineConfig({
  plugins: [svelte()],
  resolve: { alias: { "pi-client": client } },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // The page's policy allows no `data:` scripts or styles, and small files are cheap on one connection.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
