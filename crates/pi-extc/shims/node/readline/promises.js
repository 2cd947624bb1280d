// node:readline/promises.
import { promises } from "pi:shim/node/readline";

export const { Interface, createInterface } = promises;
export default promises;
