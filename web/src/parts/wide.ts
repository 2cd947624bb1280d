/** Whether there is room for a conversation and what its model saw beside each other. */
import { MediaQuery } from "svelte/reactivity";

export const wide = new MediaQuery("min-width: 100rem");
