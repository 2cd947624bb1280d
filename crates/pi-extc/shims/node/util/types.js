// `util.types`: what a value is, by the engine's own marks.
const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const TypedArray = Object.getPrototypeOf(Uint8Array);
const view = (kind) => (value) => ArrayBuffer.isView(value) && value instanceof globalThis[kind];

/** Whether calling a method of the class on the value works, which nothing can fake. */
const answers = (probe) => (value) => {
  try {
    probe(value);
    return true;
  } catch {
    return false;
  }
};
const sizeOf = (Kind) => {
  const { get } = Object.getOwnPropertyDescriptor(Kind.prototype, "size");
  return answers((value) => get.call(value));
};

const types = {
  isPromise: (value) => value instanceof Promise,
  isRegExp: (value) => value instanceof RegExp,
  isDate: answers((value) => Date.prototype.getTime.call(value)),
  isMap: sizeOf(Map),
  isSet: sizeOf(Set),
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isNativeError: (value) => value instanceof Error && tag(value) === "Error",
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer || types.isSharedArrayBuffer(value),
  isSharedArrayBuffer: (value) => typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isTypedArray: (value) => value instanceof TypedArray,
  isDataView: (value) => value instanceof DataView,
  isAsyncFunction: (value) => typeof value === "function" && /^Async/.test(tag(value)),
  isGeneratorFunction: (value) => typeof value === "function" && /GeneratorFunction$/.test(tag(value)),
  isGeneratorObject: (value) => tag(value) === "Generator",
  isArgumentsObject: (value) => tag(value) === "Arguments",
  isBoxedPrimitive: (value) => typeof value === "object" && value !== null && ["Number", "String", "Boolean", "Symbol", "BigInt"].includes(tag(value)),
  isNumberObject: (value) => typeof value === "object" && tag(value) === "Number",
  isStringObject: (value) => typeof value === "object" && tag(value) === "String",
  isBooleanObject: (value) => typeof value === "object" && tag(value) === "Boolean",
  isSymbolObject: (value) => typeof value === "object" && tag(value) === "Symbol",
  isBigIntObject: (value) => typeof value === "object" && tag(value) === "BigInt",
  isMapIterator: (value) => tag(value) === "Map Iterator",
  isSetIterator: (value) => tag(value) === "Set Iterator",
  isModuleNamespaceObject: (value) => tag(value) === "Module",
  // No engine says whether something is a proxy.
  isProxy: () => false,
  isExternal: () => false,
  isKeyObject: () => false,
  isCryptoKey: (value) => value?.constructor?.name === "CryptoKey",
};
for (const kind of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
  types[`is${kind}`] = view(kind);
}

export const {
  isPromise, isRegExp, isDate, isMap, isSet, isWeakMap, isWeakSet, isNativeError, isArrayBuffer, isAnyArrayBuffer, isSharedArrayBuffer,
  isArrayBufferView, isTypedArray, isDataView, isAsyncFunction, isGeneratorFunction, isGeneratorObject, isArgumentsObject, isBoxedPrimitive,
  isNumberObject, isStringObject, isBooleanObject, isSymbolObject, isBigIntObject, isMapIterator, isSetIterator, isModuleNamespaceObject,
  isProxy, isExternal, isKeyObject, isCryptoKey, isUint8Array, isUint8ClampedArray, isUint16Array, isUint32Array, isInt8Array, isInt16Array,
  isInt32Array, isFloat32Array, isFloat64Array, isBigInt64Array, isBigUint64Array,
} = types;
export default types;
