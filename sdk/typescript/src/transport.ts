import { camel } from "./camel.js";
import { abortedError, connectionError, responseError, ScoreboardError, wrap } from "./error.js";
import { readText } from "./response.js";
import type { Settings } from "./options.js";
import { headerText, sign } from "./sign.js";
import { orAbort } from "./token.js";
import { jitter, sleep } from "./wait.js";

/** Query is a query by parameter. Absent and empty values are left out. */
export type Query = Record<string, string | number | undefined>;

/** Call describes a request of the API; each try builds a new one. */
export interface Call {
  method: string;
  path: string;
  query?: Query;
  /** The body of a try, to be sent as JSON. */
  body?: () => unknown;
  /** Adds a signature to the headers. */
  sign?: boolean;
  headers?: Record<string, string>;
  eventId?: string;
}

/** The maximum Retry-After that a call waits for, in milliseconds. */
const MAX_RETRY_AFTER = 30_000;

/** Transport sends requests to one server. */
export class Transport {
  constructor(readonly settings: Settings) {}

  /** send makes a call, with retries, and returns the response with its fields in camel case. */
  async send<T>(call: Call, signal?: AbortSignal): Promise<T> {
    for (let n = 1; ; n++) {
      try {
        return await this.try<T>(call, signal);
      } catch (error) {
        if (!(error instanceof ScoreboardError)) throw error;
        Object.assign(error, { attempts: n, eventId: error.eventId || call.eventId || "" });
        if (n >= this.settings.attempts || !error.temporary || signal?.aborted || error.retryAfter > MAX_RETRY_AFTER) {
          throw error;
        }
        await sleep(error.retryAfter + jitter(n - 1), signal).catch((aborted: ScoreboardError) => {
          throw Object.assign(aborted, { attempts: n, eventId: call.eventId ?? "" });
        });
      }
    }
  }

  /** try makes a call once. */
  async try<T>(call: Call, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw abortedError(signal);
    const body = call.body && JSON.stringify(await call.body());
    const ended = new AbortController();
    const abort = () => ended.abort();
    const timer = setTimeout(abort, this.settings.timeout);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const url = this.url(call.path, call.query);
      const headers = await this.headers(ended.signal, { Accept: "application/json", ...call.headers });
      if (body !== undefined) headers["Content-Type"] = "application/json";
      if (call.sign) Object.assign(headers, await this.#signature(call.method, call.path + url.search, body ?? ""));
      const response = await this.settings.fetch(url, {
        method: call.method, headers, body, signal: ended.signal,
        redirect: "manual", // the API does not redirect, and another server must not get the token
      });
      const text = await readText(response);
      if (!response.ok) throw responseError(response.status || 302, response.headers, text);
      return camel(JSON.parse(text)) as T;
    } catch (error) {
      if (signal?.aborted) throw abortedError(signal);
      if (ended.signal.aborted) throw connectionError(`no response within ${this.settings.timeout} ms`, error);
      throw wrap(`${call.method} ${call.path}`, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** headers are those of all requests, streams included, and the given ones. */
  async headers(signal: AbortSignal, more: Record<string, string>): Promise<Record<string, string>> {
    const { token, userAgent } = this.settings;
    const headers: Record<string, string> = { ...more };
    if (userAgent) headers["User-Agent"] = userAgent;
    const bearer = typeof token === "function" ? await orAbort(token(signal), signal) : token;
    if (bearer) headers["Authorization"] = `Bearer ${bearer}`;
    return headers;
  }

  url(path: string, query: Query = {}): URL {
    const url = new URL(this.settings.server + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") url.searchParams.set(name, String(value));
    }
    return url;
  }

  async #signature(method: string, target: string, body: string): Promise<Record<string, string>> {
    const { keyId, keySecret } = this.settings;
    if (!keyId) return {};
    const timestamp = String(Math.floor(Date.now() / 1000));
    const text = await headerText(method, target, keyId, timestamp, body);
    return {
      "X-Scoreboard-Key": keyId,
      "X-Scoreboard-Timestamp": timestamp,
      "X-Scoreboard-Signature": "v1=" + (await sign(keySecret, text)),
    };
  }
}

/**
 * segment escapes an id for a path. The ids "." and ".." cannot be sent in one: URLs resolve
 * them, escaped or not.
 */
export function segment(id: string): string {
  if (id === "." || id === "..") {
    throw new ScoreboardError({ code: "invalid_request", message: `the id "${id}" cannot be sent in a path` });
  }
  return encodeURIComponent(id);
}
