/**
 * Calls somebody who listens. What a listener throws is reported as an error that nobody caught, and ends neither the
 * connection nor what others are told.
 */
export function tell(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
