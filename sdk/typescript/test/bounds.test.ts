import assert from "node:assert/strict";
import { test } from "node:test";

import { renewing, Scoreboard, ScoreboardError } from "@scoreboard/client";

import { flush } from "./vectors.js";

const server = "https://scores.example.com";

/** endless is a response that never ends, and says whether it was cancelled. */
function endless(type: string, chunk: string): { response: Response; cancelled: () => boolean; bytes: () => number } {
  let cancelled = false;
  let bytes = 0;
  const piece = new TextEncoder().encode(chunk);
  const body = new ReadableStream({
    pull(stream) {
      bytes += piece.length;
      stream.enqueue(piece);
    },
    cancel() {
      cancelled = true;
    },
  });
  return {
    response: new Response(body, { headers: { "Content-Type": type } }), cancelled: () => cancelled, bytes: () => bytes,
  };
}

const failure = (call: Promise<unknown>): Promise<ScoreboardError> =>
  call.then(() => assert.fail("no error"), (error: unknown) => error as ScoreboardError);

test("a response is bounded", async () => {
  const { response, cancelled, bytes } = endless("application/json", " ".repeat(64 << 10));
  const sb = new Scoreboard({ server, attempts: 1, fetch: async () => response });
  const error = await failure(sb.top());
  assert.match(error.message, /over 4194304 bytes/);
  assert.ok(cancelled() && bytes() < 5 << 20);
});

test("an event is bounded", async () => {
  const { response, bytes } = endless("text/event-stream", "data: " + "x".repeat(64 << 10) + "\n");
  const signals: AbortSignal[] = []; // by which a real fetch ends the stream
  const sb = new Scoreboard({
    server, webSocket: false, fetch: async (_, init) => {
      if (signals.push(init?.signal as AbortSignal) > 1) throw new Error("offline");
      return response;
    },
  });
  for await (const { error } of sb.watch()) {
    assert.match(String(error), /over 1048576 characters/);
    break;
  }
  assert.ok(signals[0]?.aborted && bytes() < 2 << 20);
});

test("a token that never comes is bounded", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
  let fetched = 0;
  const token = renewing(() => (fetched++ ? Promise.resolve({ token: "t", expiresAt: Date.now() + 60_000 }) : new Promise(() => {})));
  const sent: (string | undefined)[] = [];
  const sb = new Scoreboard({
    server, attempts: 1, token, fetch: async (_, init) => {
      sent.push((init?.headers as Record<string, string>)["Authorization"]);
      return new Response("{}");
    },
  });
  const hanging = failure(new Scoreboard({ server, attempts: 1, token: () => new Promise(() => {}) }).top());
  const first = failure(sb.top());
  await flush();
  t.mock.timers.tick(10_000);
  assert.match((await first).message, /no response within 10000 ms/);
  assert.match((await hanging).message, /no response within 10000 ms/);
  await sb.top(); // fetches again
  assert.deepEqual(sent, ["Bearer t"]);
});

test("a field may have any name", async () => {
  const body = '{"board":"global","entries":[],"__proto__":{"polluted":true},"constructor":1}';
  const top = await new Scoreboard({ server, fetch: async () => new Response(body) }).top();
  assert.equal((top as { polluted?: boolean }).polluted, undefined);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});
