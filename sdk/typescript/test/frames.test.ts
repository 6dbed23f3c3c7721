import assert from "node:assert/strict";
import { test } from "node:test";

import { Scoreboard, type State } from "@scoreboard/client";

import { type Bounds, type Cases, flush, only, STEP, vectors } from "./vectors.js";

interface VectorState {
  board: string; epoch: number; version: number; degraded: string; top: Record<string, unknown>[];
  me?: Record<string, unknown>;
  tier?: Record<string, unknown>;
}

interface FrameVector {
  name: string;
  delta: boolean;
  steps: {
    at_ms: number; frame?: unknown; keepalive?: boolean; state?: VectorState; resync?: boolean; reconnect?: Bounds;
  }[];
  resume: string;
}

interface Connect {
  at: number;
  resume: string | null;
  delta: string | null;
  stream: ReadableStreamDefaultController<Uint8Array>;
}

const snake = (key: string): string => key.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase());
const fields = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => [snake(key), item]));

function stateOf({ board, epoch, version, degraded, top, me, tier }: State): VectorState {
  const own = { ...(me && { me: fields(me) }), ...(tier && { tier: fields(tier) }) };
  return { board, epoch, version, degraded, top: top.map(fields), ...own };
}

// The client always asks for deltas, so it runs all vectors over such a stream.
test("frames", async (t) => {
  for (const v of vectors<Cases<FrameVector>>("frames.json").cases) {
    await t.test(v.name, async (t) => {
      only(v, "name", "delta", "steps", "resume");
      t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.now() });
      const connects: Connect[] = [];
      const fetch = (async (input: URL, init: RequestInit) => {
        const { searchParams } = input;
        const body = new ReadableStream<Uint8Array>({
          start(stream) {
            connects.push({
              at: Date.now(), resume: searchParams.get("last_event_id"), delta: searchParams.get("delta"), stream,
            });
            init.signal?.addEventListener("abort", () => {
              try {
                stream.error(init.signal?.reason);
              } catch {
                // closed by the test
              }
            });
          },
        });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
      }) as typeof globalThis.fetch;
      const left = new AbortController();
      const sb = new Scoreboard({ server: "https://scores.example.com", fetch, webSocket: false });
      let last: State | undefined;
      const watching = (async () => {
        for await (const state of sb.watch({ board: "global" }, { signal: left.signal })) last = state;
      })();
      const start = Date.now();
      const until = async (done: () => boolean): Promise<void> => {
        for (await flush(); !done(); await flush()) {
          assert.ok(Date.now() - start < 100_000, "it does not happen");
          t.mock.timers.tick(STEP);
        }
      };
      await until(() => connects.length === 1);
      const encoder = new TextEncoder();
      let streams = 1;
      for (const [n, step] of v.steps.entries()) {
        only(step, "at_ms", "frame", "keepalive", "state", "resync", "reconnect");
        if (start + step.at_ms > Date.now()) t.mock.timers.tick(start + step.at_ms - Date.now());
        await flush();
        const { stream } = connects[streams - 1]!;
        stream.enqueue(encoder.encode(step.keepalive ? ": ping\n\n" : `data: ${JSON.stringify(step.frame)}\n\n`));
        const asked = Date.now();
        if (step.reconnect || step.resync) {
          await until(() => connects.length > streams);
          const waited = connects[streams++]!.at - asked;
          const { min_ms, max_ms } = step.reconnect ?? { min_ms: 0, max_ms: STEP };
          assert.ok(waited >= min_ms && waited <= max_ms, `waited ${waited} ms, want ${min_ms} to ${max_ms}`);
          continue;
        }
        await flush();
        assert.ok(last);
        const want = structuredClone(step.state);
        assert.deepEqual(stateOf(last), want, `step ${n}`);
      }
      if (streams === 1) {
        connects[0]!.stream.close();
        await until(() => connects.length > 1);
        streams++;
      }
      assert.equal(connects[streams - 1]!.resume ?? "", v.resume);
      assert.equal(connects[0]!.delta, "1");
      left.abort();
      await watching;
    });
  }
});
