const LINE = 10;

export const count = (bytes: Uint8Array): number => Array.from(bytes).filter((byte) => byte === LINE).length;
