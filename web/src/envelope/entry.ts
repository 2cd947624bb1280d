/** What the page shows of envelopes, loaded when it is first wanted. */

export { default as EnvelopeView } from "./EnvelopeView.svelte";
export { default as RequestStrip } from "./RequestStrip.svelte";
export { default as ViewerPage } from "./ViewerPage.svelte";
