// @sinclair/typebox/compiler under its old names.
import { Compile, Validator } from "pi:shim/typebox/compile";

export const TypeCompiler = { Compile: (schema) => Compile(schema), Code: () => "" };
export { Validator as TypeCheck };
export default { TypeCompiler };
