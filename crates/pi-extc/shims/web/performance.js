// performance: time since the guest began, and marks.
import host from "pi:host";

const start = host.monotonic();
const origin = host.now();
let entries = [];

const record = (name, entryType, startTime, duration, detail) => {
  const entry = { name, entryType, startTime, duration, detail: detail ?? null, toJSON() { return { name, entryType, startTime, duration, detail: detail ?? null }; } };
  entries.push(entry);
  // Whoever marks in a loop must not fill the heap.
  if (entries.length > 1000) entries = entries.slice(-1000);
  return entry;
};

const performance = {
  timeOrigin: origin,
  now: () => host.monotonic() - start,
  mark: (name, options) => record(String(name), "mark", options?.startTime ?? performance.now(), 0, options?.detail),
  measure(name, from, to) {
    const find = (mark, fallback) => (typeof mark === "string" ? (entries.findLast((entry) => entry.name === mark)?.startTime ?? fallback) : typeof mark === "number" ? mark : fallback);
    const isOptions = from !== null && typeof from === "object";
    const begin = find(isOptions ? from.start : from, 0);
    const end = find(isOptions ? from.end : to, performance.now());
    return record(String(name), "measure", begin, end - begin, isOptions ? from.detail : undefined);
  },
  getEntries: () => entries.slice(),
  getEntriesByName: (name, type) => entries.filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)),
  getEntriesByType: (type) => entries.filter((entry) => entry.entryType === type),
  clearMarks(name) { entries = entries.filter((entry) => entry.entryType !== "mark" || (name !== undefined && entry.name !== name)); },
  clearMeasures(name) { entries = entries.filter((entry) => entry.entryType !== "measure" || (name !== undefined && entry.name !== name)); },
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  timerify: (original) => original,
  toJSON: () => ({ timeOrigin: origin }),
};
export default performance;
