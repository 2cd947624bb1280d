// node:tty. There is no terminal to an extension.
export const isatty = () => false;
export default { isatty };
