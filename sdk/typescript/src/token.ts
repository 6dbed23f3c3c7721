/** TokenSource returns the bearer token of a try. It is called for each, so it should cache. */
export type TokenSource = (signal: AbortSignal) => string | Promise<string>;

/** orAbort is the promise, but fails when the signal aborts, even if what makes it ignores the signal. */
export function orAbort<T>(promise: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    Promise.resolve(promise).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

// Longer than a try takes, so that no request is sent with a token about to expire.
const RENEW_BEFORE = 30_000;

/**
 * renewing caches the token that fetch returns until 30 s before it expires. One fetch runs at a
 * time.
 */
export function renewing(
  fetch: (signal: AbortSignal) => Promise<{ token: string; expiresAt: Date | string | number }>,
): TokenSource {
  let current: Promise<string> | undefined;
  let expires = 0;
  return (signal) => {
    if (current && Date.now() < expires - RENEW_BEFORE) return current;
    expires = Infinity; // until the fetch has ended
    const renewed = orAbort(fetch(signal), signal).then((fetched) => {
      expires = new Date(fetched.expiresAt).getTime();
      return fetched.token;
    });
    renewed.catch(() => (current = undefined));
    return (current = renewed);
  };
}
