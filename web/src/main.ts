import "./design/tokens.css";
import "./design/base.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { door } from "./link/door.svelte";
import { appearance } from "./parts/theme.svelte";
import { loadLanguage } from "./texts";

appearance.load();
// Nobody waits for the provider of a model here: the page needs its own server only, and is shown without it too.
await Promise.all([door.enter(), loadLanguage()]);
mount(App, { target: document.getElementById("page") as HTMLElement });
