// typebox/system and the registries of formats.
import { formats } from "pi:shim/typebox/shapes";
import { FormatRegistry } from "pi:shim/typebox/type";

export { FormatRegistry };
export const Format = { Has: (name) => formats.has(name), Set: (name, check) => void formats.set(name, check), Get: (name) => formats.get(name), Clear: () => formats.clear() };
export const Settings = { Get: () => ({}), Set() {}, Reset() {} };
export const TypeSystem = { Format: (name, check) => { formats.set(name, check); return name; } };
export const TypeSystemPolicy = {};
export default { Format, FormatRegistry, Settings, TypeSystem, TypeSystemPolicy };
