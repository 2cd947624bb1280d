// Errors of the system as Node words them: `ENOENT: no such file or directory, open 'x'`.

const NUMBERS = {
  EPERM: 1, ENOENT: 2, EINTR: 4, EIO: 5, EBADF: 9, EAGAIN: 11, ENOMEM: 12, EACCES: 13, EBUSY: 16, EEXIST: 17, EXDEV: 18, ENODEV: 19, ENOTDIR: 20,
  EISDIR: 21, EINVAL: 22, ENFILE: 23, EMFILE: 24, ETXTBSY: 26, EFBIG: 27, ENOSPC: 28, ESPIPE: 29, EROFS: 30, EMLINK: 31, EPIPE: 32, ENAMETOOLONG: 36,
  ENOSYS: 38, ENOTEMPTY: 39, ELOOP: 40, EADDRINUSE: 98, ENETUNREACH: 101, ECONNABORTED: 103, ECONNRESET: 104, ETIMEDOUT: 110, ECONNREFUSED: 111,
  EHOSTUNREACH: 113, ESRCH: 3, E2BIG: 7, ENOTSUP: 95, EAI_AGAIN: 3001, ENOTFOUND: 3008, ECANCELED: 125,
};

const TEXTS = {
  EPERM: "operation not permitted", ENOENT: "no such file or directory", EINTR: "interrupted system call", EIO: "i/o error",
  EBADF: "bad file descriptor", EACCES: "permission denied", EBUSY: "resource busy or locked", EEXIST: "file already exists",
  EXDEV: "cross-device link not permitted", ENOTDIR: "not a directory", EISDIR: "illegal operation on a directory", EINVAL: "invalid argument",
  EMFILE: "too many open files", ETXTBSY: "text file is busy", EFBIG: "file too large", ENOSPC: "no space left on device",
  EROFS: "read-only file system", EPIPE: "broken pipe", ENAMETOOLONG: "name too long", ENOSYS: "function not implemented",
  ENOTEMPTY: "directory not empty", ELOOP: "too many symbolic links encountered", ETIMEDOUT: "connection timed out",
  ECONNREFUSED: "connection refused", ECONNRESET: "connection reset by peer", ESRCH: "no such process", ENOTSUP: "operation not supported on socket",
};

export const errnoOf = (code) => (NUMBERS[code] === undefined ? undefined : -NUMBERS[code]);
export const nameOf = (number) => Object.keys(NUMBERS).find((code) => NUMBERS[code] === -number);
export const systemErrors = () => new Map(Object.entries(NUMBERS).map(([code, number]) => [-number, [code, TEXTS[code] ?? code]]));

/** @param {{path?: string, dest?: string, reason?: string, cause?: unknown}} [about] `reason` follows in brackets */
export function systemFault(code, syscall, { path, dest, reason, cause } = {}) {
  const place = path === undefined ? "" : ` '${path}'${dest === undefined ? "" : ` -> '${dest}'`}`;
  const fault = new Error(`${code}: ${TEXTS[code] ?? "unknown error"}, ${syscall}${place}${reason ? ` (${reason})` : ""}`, cause === undefined ? undefined : { cause });
  return Object.assign(fault, { errno: errnoOf(code), code, syscall, ...(path !== undefined && { path }), ...(dest !== undefined && { dest }) });
}

/** What the host refused or could not do, in Node's words. What the system did not say keeps the host's own words. */
export function translate(fault, syscall, about = {}) {
  if (fault?.name !== "HostFault") return fault;
  const errno = fault.details?.errno;
  if (errno) return systemFault(errno, syscall, { ...about, cause: fault });
  if (fault.code === "denied") return systemFault("EACCES", syscall, { ...about, reason: fault.message, cause: fault });
  if (fault.code === "timeout") return systemFault("ETIMEDOUT", syscall, { ...about, reason: fault.message, cause: fault });
  return systemFault("EIO", syscall, { ...about, reason: fault.message, cause: fault });
}
