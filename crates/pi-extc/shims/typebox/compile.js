// typebox/compile: a checker for a schema. Nothing is compiled: an extension cannot make code from text.
import { Value } from "pi:shim/typebox/value";

export class Validator {
  #schema;
  constructor(schema) { this.#schema = schema; }
  Type() { return this.#schema; }
  Schema() { return this.#schema; }
  Code() { return ""; }
  IsAccelerated() { return false; }
  Check(value) { return Value.Check(this.#schema, value); }
  Errors(value) { return Value.Errors(this.#schema, value); }
  Clean(value) { return Value.Clean(this.#schema, value); }
  Convert(value) { return Value.Convert(this.#schema, value); }
  Create() { return Value.Create(this.#schema); }
  Default(value) { return Value.Default(this.#schema, value); }
  Parse(value) { return Value.Parse(this.#schema, value); }
  Decode(value) { return Value.Decode(this.#schema, value); }
  Encode(value) { return Value.Encode(this.#schema, value); }
}

export const Compile = (...args) => new Validator(args.at(-1));
export const Code = () => "";
export { Compile as default };
