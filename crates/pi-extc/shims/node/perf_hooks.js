// node:perf_hooks.
import performance from "pi:shim/web/performance";

export { performance };
export class PerformanceObserver {
  static supportedEntryTypes = [];
  observe() {}
  disconnect() {}
  takeRecords() { return []; }
}
export const monitorEventLoopDelay = () => ({ enable: () => true, disable: () => true, reset() {}, min: 0, max: 0, mean: 0, stddev: 0, percentile: () => 0 });
export const constants = {};
export default { performance, PerformanceObserver, monitorEventLoopDelay, constants };
