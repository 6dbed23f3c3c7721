import { abortedError } from "./error.js";

/**
 * jitter is a random time below base·2ⁿ and limit, in milliseconds. Full jitter keeps clients
 * that failed together from retrying together.
 */
export function jitter(n: number, base = 200, limit = 5_000): number {
  return Math.random() * Math.min(base * 2 ** n, limit);
}

/** sleep waits for a time in milliseconds. It throws if the signal aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortedError(signal));
    const abort = () => {
      clearTimeout(timer);
      reject(abortedError(signal as AbortSignal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
