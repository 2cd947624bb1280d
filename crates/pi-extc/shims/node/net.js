// node:net. Sockets are not for extensions; telling addresses apart is.
export const isIPv4 = (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text);
export const isIPv6 = (text) => {
  if (typeof text !== "string" || !text.includes(":")) return false;
  const [address] = text.split("%");
  const halves = address.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const tail = groups.at(-1)?.includes(".") ? groups.pop() : undefined;
  if (tail !== undefined && !isIPv4(tail)) return false;
  const count = groups.length + (tail === undefined ? 0 : 2);
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) && (halves.length === 2 ? count <= 7 : count === 8);
};
export const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

/** The number that an address is, with its width in bits. */
function number(address) {
  if (isIPv4(address)) return { bits: 32, value: address.split(".").reduce((all, part) => (all << 8n) | BigInt(part), 0n) };
  if (!isIPv6(address)) throw Object.assign(new TypeError(`Invalid address: ${address}`), { code: "ERR_INVALID_ADDRESS" });
  const [head, tail] = address.split("%")[0].split("::");
  const groups = (half) => (half ? half.split(":") : []).flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const { value } = number(group);
    return [value >> 16n, value & 0xffffn];
  });
  const [first, last] = [groups(head), groups(tail)];
  const all = tail === undefined ? first : [...first, ...Array(8 - first.length - last.length).fill(0n), ...last];
  return { bits: 128, value: all.reduce((sum, group) => (sum << 16n) | group, 0n) };
}

/** Ranges of addresses; it asks nobody and opens nothing. */
export class BlockList {
  #ranges = [];

  addAddress(address) {
    this.addRange(address, address);
  }

  addRange(start, end) {
    const [low, high] = [number(start), number(end)];
    if (low.bits !== high.bits || low.value > high.value) throw Object.assign(new RangeError("start must come before end"), { code: "ERR_INVALID_ARG_VALUE" });
    this.#ranges.push({ bits: low.bits, low: low.value, high: high.value });
  }

  addSubnet(network, prefix) {
    const { bits, value } = number(network);
    if (!Number.isInteger(prefix) || prefix < 0 || prefix > bits) throw Object.assign(new RangeError(`prefix must be between 0 and ${bits}`), { code: "ERR_OUT_OF_RANGE" });
    const rest = BigInt(bits - prefix);
    const low = (value >> rest) << rest;
    this.#ranges.push({ bits, low, high: low | ((1n << rest) - 1n) });
  }

  check(address) {
    if (!isIP(address)) return false;
    const { bits, value } = number(address);
    // An IPv4 address in the clothes of IPv6 is the same address.
    const mapped = bits === 128 && value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffffffffn } : undefined;
    return [{ bits, value }, mapped].some((one) => one && this.#ranges.some((range) => range.bits === one.bits && range.low <= one.value && one.value <= range.high));
  }

  get rules() {
    return this.#ranges.map(({ bits, low, high }) => `Range: IPv${bits === 32 ? 4 : 6} ${low}-${high}`);
  }
}

export default { BlockList, isIP, isIPv4, isIPv6, [Symbol.for("pi.remedy")]: "an extension has no sockets: use fetch, or start a program that connects" };
