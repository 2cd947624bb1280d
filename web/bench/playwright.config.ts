/** One after the other and once: whoever measures shares the machine with nobody. */
import { defineConfig } from "@playwright/test";
import tests from "../tests/playwright.config";

export default defineConfig({ ...tests, testMatch: "*.bench.ts", testIgnore: [], workers: 1, retries: 0, timeout: 600_000, reporter: [["line"]] });
