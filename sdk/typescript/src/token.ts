/** TokenSource returns the bearer token of a try. It is called for each, so it should cache. */
export type TokenSource = (signal: AbortSignal) => string | Promise<string>;

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
    const renewed = fetch(signal).then((fetched) => {
      expires = new Date(fetched.expiresAt).getTime();
      return fetched.token;
    });
    renewed.catch(() => (current = undefined));
    return (current = renewed);
  };
}
