// node:vm. Code is loaded when the extension is built.
export const isContext = () => false;
export default { isContext, [Symbol.for("pi.remedy")]: "an extension cannot make contexts: put the code into the extension, or start a program" };
