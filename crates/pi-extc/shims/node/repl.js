// node:repl. There is no terminal to an extension.
export default { [Symbol.for("pi.remedy")]: "use ctx.ui.input" };
