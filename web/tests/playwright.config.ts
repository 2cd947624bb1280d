import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

/** The system's browser: nothing is downloaded for the tests. */
const chromium = process.env["CHROMIUM"] ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const report = process.env["PAGE_TEST_REPORT"];

export default defineConfig({
  testDir: ".",
  outputDir: "../test-results",
  fullyParallel: false,
  workers: Number(process.env["PAGE_TEST_WORKERS"] ?? 2),
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // `cargo xtask test` sets both, and tells by name which tests passed only when run again.
  retries: Number(process.env["PAGE_TEST_RETRIES"] ?? 0),
  reporter: report === undefined ? [["list"]] : [["list"], ["json", { outputFile: report }]],
  use: {
    browserName: "chromium",
    headless: true,
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    launchOptions: {
      ...(chromium === undefined ? {} : { executablePath: chromium }),
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        // A page that the test puts in the place of the server's counts as one of elsewhere (see `support/page.ts`).
        ...(process.env["PAGE_DIST"] === undefined ? [] : ["--disable-features=LocalNetworkAccessChecks"]),
      ],
    },
  },
});
