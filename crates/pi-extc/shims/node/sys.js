// node:sys. The old name of node:util.
export { default } from "pi:shim/node/util";
