import { abortedError, responseError, wrap } from "../error.js";
import { readText } from "../response.js";
import { decode, MAX_FRAME, streamQuery, Watchdog } from "./stream.js";
import type { Watcher } from "./watch.js";

/**
 * followEvents follows the stream over server-sent events until it ends. It reads them with fetch,
 * because an EventSource cannot send a token and does not show keepalives.
 */
export async function followEvents(w: Watcher, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const abort = () => ended.abort(abortedError(signal));
  signal.addEventListener("abort", abort, { once: true });
  const watchdog = new Watchdog((silence) => ended.abort(silence));
  try {
    const { transport } = w;
    const response = await transport.settings.fetch(transport.url(w.routes.stream, streamQuery(w)), {
      headers: await transport.headers(ended.signal, { Accept: "text/event-stream" }),
      signal: ended.signal, redirect: "manual", cache: "no-store",
    });
    const type = response.headers.get("Content-Type") ?? "";
    if (response.status !== 200 || !type.startsWith("text/event-stream") || !response.body) {
      throw responseError(response.status || 302, response.headers, await readText(response));
    }
    await read(w, response.body, watchdog);
    throw new Error("the stream ended");
  } catch (error) {
    throw wrap("follow the events", ended.signal.aborted ? ended.signal.reason : error);
  } finally {
    watchdog.stop();
    ended.abort(); // also of a stream that a message ended
    signal.removeEventListener("abort", abort);
  }
}

async function read(w: Watcher, body: ReadableStream<Uint8Array>, watchdog: Watchdog): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = ""; // of an incomplete line
  let data = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    watchdog.reset();
    const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith(":")) {
        w.heartbeat("sse");
      } else if (line.startsWith("data:")) {
        data += line.slice(5) + "\n"; // the frame has all that event and id say
      } else if (line === "" && data) {
        const frame = decode(data);
        data = "";
        w.frame("sse", frame);
      }
    }
    if (rest.length + data.length > MAX_FRAME) throw new Error(`an event of over ${MAX_FRAME} characters`);
  }
}
