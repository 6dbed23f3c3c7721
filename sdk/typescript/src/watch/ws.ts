import { abortedError, connectionError, ScoreboardError, wrap } from "../error.js";
import { decode, MAX_FRAME, MAX_SILENCE, streamQuery, Watchdog } from "./stream.js";
import type { Watcher } from "./watch.js";

/** Socket is the part of a WebSocket that a watch uses. */
export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown } & never) => void) | null;
  onclose: ((event: { code: number; reason: string } & never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}

/** WebSocketClass makes WebSockets: that of browsers and Node 22, or that of the package ws. */
export type WebSocketClass = new (url: string) => Socket;

/** followSocket follows the stream over one WebSocket until it ends. */
export async function followSocket(w: Watcher, signal: AbortSignal): Promise<void> {
  const { transport } = w;
  const { settings } = transport;
  const query = streamQuery(w);
  if (settings.token) {
    // A WebSocket cannot send a token in all environments, so it takes a ticket, which is valid once.
    const ticket = await transport.try<{ token: string }>(
      { method: "GET", path: "/v1/realtime/token", query: { board: w.query.board } }, signal,
    );
    query["token"] = ticket.token;
  }
  const url = transport.url(w.routes.stream, query);
  url.protocol = url.protocol.replace("http", "ws");
  const socket = new (settings.webSocket as WebSocketClass)(url.href);
  await new Promise<never>((_, reject) => {
    const abort = () => end(abortedError(signal));
    const watchdog = new Watchdog((silence) => end(wrap("read the stream", silence)));
    // Pings are not shown to programs. If nothing else arrives, subscribing again makes the server
    // send the current state, by which a dead connection is noticed.
    const confirm = setInterval(() => {
      if (Date.now() - heardAt < MAX_SILENCE / 3 || !opened) return;
      for (const type of ["unsubscribe", "subscribe"]) {
        socket.send(JSON.stringify({ type, board: w.query.board || "global" }));
      }
    }, MAX_SILENCE / 3);
    const opening = setTimeout(() => {
      end(connectionError(`no WebSocket within ${settings.timeout} ms`));
    }, settings.timeout);
    let heardAt = Date.now();
    let opened = false;
    const end = (error: unknown) => {
      watchdog.stop();
      clearInterval(confirm);
      clearTimeout(opening);
      signal.removeEventListener("abort", abort);
      socket.onmessage = socket.onclose = socket.onopen = null;
      socket.onerror = () => {}; // of closing before it was open
      socket.close();
      reject(error);
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    socket.onopen = () => {
      opened = true;
      clearTimeout(opening);
    };
    socket.onmessage = ({ data }) => {
      watchdog.reset();
      heardAt = Date.now();
      try {
        const text = String(data);
        if (text.length > MAX_FRAME) throw new Error(`a message of over ${MAX_FRAME} characters`);
        w.frame("ws", decode(text));
      } catch (error) {
        end(wrap("read the stream", error));
      }
    };
    socket.onerror = () => {}; // onclose says the same
    socket.onclose = ({ code, reason }) => end(closeError(code, reason));
  });
}

const closes: Record<number, [status: number, code: string]> = {
  4401: [401, "unauthorized"], 4403: [403, "forbidden"], 4429: [429, "rate_limited"],
};

/** closeError translates a close code to the API's error. */
function closeError(code: number, reason: string): ScoreboardError {
  const message = `the WebSocket was closed: ${code} ${reason}`;
  const known = closes[code];
  return known
    ? new ScoreboardError({ status: known[0], code: known[1], message })
    : connectionError(message);
}
