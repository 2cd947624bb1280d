// DOMException.

const CODES = {
  IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7, NotFoundError: 8,
  NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13, NamespaceError: 14,
  InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20, URLMismatchError: 21, QuotaExceededError: 22,
  TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
};

export class DOMException extends Error {
  #name;
  constructor(message = "", options = "Error") {
    super(message, typeof options === "object" && options?.cause !== undefined ? { cause: options.cause } : undefined);
    this.#name = typeof options === "object" ? (options?.name ?? "Error") : String(options);
  }
  get name() { return this.#name; }
  get code() { return CODES[this.#name] ?? 0; }
  get [Symbol.toStringTag]() { return "DOMException"; }
}
for (const [name, code] of Object.entries(CODES)) {
  const constant = `${name.replace(/Error$/, "").replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()}_ERR`;
  for (const target of [DOMException, DOMException.prototype]) Object.defineProperty(target, constant, { value: code, enumerable: true });
}
