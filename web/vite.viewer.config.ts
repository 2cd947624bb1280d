import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import page from "./vite.config";

/** The viewer of exported files: one script and one stylesheet, which `pack.mjs` puts into one HTML file. */
export default defineConfig({
  plugins: [svelte()],
  resolve: page.resolve ?? {},
  publicDir: false,
  build: {
    ...page.build,
    outDir: "dist-viewer",
    cssCodeSplit: false,
    rolldownOptions: {
      input: "src/viewer.ts",
      output: { format: "iife", codeSplitting: false, entryFileNames: "viewer.js", assetFileNames: "viewer[extname]" },
    },
  },
});
