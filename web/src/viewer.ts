/**
 * The viewer of files: one page with everything in it, that shows the envelopes which stand in it, or any that are dropped on it.
 * `pi envelope view` and `pi export --html --envelopes` write it; it asks nobody for anything.
 */
import "./design/tokens.css";
import "./design/base.css";
import { mount } from "svelte";
import Viewer from "./envelope/Viewer.svelte";
import { loadLanguage } from "./texts";

// Before anything is drawn: the page as it was written is the shell of the files that are saved from it.
const written = `<!doctype html>\n${document.documentElement.outerHTML}\n`;

async function start(): Promise<void> {
  await loadLanguage();
  const target = document.getElementById("page");
  const data = document.getElementById("pi-data")?.textContent ?? "";
  if (target !== null) {
    mount(Viewer, { target, props: { data, shell: written } });
  }
}

void start();
