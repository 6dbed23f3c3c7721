import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldText, headerText, type Receipt, Scoreboard, ScoreboardError, sign } from "@scoreboard/client";

import { perform, script, type PlaceOf, type ScriptedResponse, type Seen, type VectorCall } from "./script.js";
import { type Bounds, type Cases, flush, only, STEP, vectors } from "./vectors.js";

const server = "https://scores.example.com";

interface Signatures {
  fields: { name: string; secret: string; key_id: string; increment: Parameters<typeof fieldText>[0]; text: string; signature: string }[];
  headers: {
    name: string; secret: string; key_id: string; method: string; target: string; timestamp: string; body: string;
    text: string; signature: string;
  }[];
}

test("signatures", async () => {
  const all = vectors<Signatures>("signatures.json");
  for (const v of all.fields) {
    assert.equal(fieldText(v.increment), v.text, v.name);
    assert.equal(await sign(v.secret, v.text), v.signature, v.name);
  }
  for (const v of all.headers) {
    const text = await headerText(v.method, v.target, v.key_id, v.timestamp, v.body);
    assert.equal(text, v.text, v.name);
    assert.equal("v1=" + (await sign(v.secret, text)), v.signature, v.name);
  }
});

interface VectorError {
  status?: number; code?: string; message?: string; field?: string; reason?: string; event_id?: string;
  request_id?: string; retry_after_ms?: number; would_rank?: number; next_reset?: string; attempts?: number; temporary?: boolean;
  next_step?: string;
}

function checkError(want: VectorError, e: unknown): void {
  assert.ok(e instanceof ScoreboardError, String(e));
  const got: Required<VectorError> = {
    status: e.status, code: e.code, message: e.message, field: e.field, reason: e.reason, event_id: e.eventId,
    request_id: e.requestId, retry_after_ms: e.retryAfter, would_rank: e.wouldRank, next_reset: e.nextReset, attempts: e.attempts,
    temporary: e.temporary, next_step: e.nextStep,
  };
  only(want, ...Object.keys(got));
  assert.deepEqual({ ...got, ...want }, got);
}

interface ErrorVector {
  name: string; now?: string; response: { status: number; headers: Record<string, string>; body: string };
  error: VectorError;
}

test("errors", async (t) => {
  for (const v of vectors<Cases<ErrorVector>>("errors.json").cases) {
    await t.test(v.name, async (t) => {
      only(v, "name", "now", "response", "error");
      if (v.now) t.mock.timers.enable({ apis: ["Date"], now: Date.parse(v.now) });
      const { fetch, seen } = script([{ ...v.response, body: undefined, text: v.response.body }]);
      const call = new Scoreboard({ server, fetch, attempts: 1 }).top();
      checkError(v.error, await call.then(() => undefined, (e: unknown) => e));
      assert.equal(seen.length, 1);
      assert.equal(seen[0]?.redirect, "manual");
    });
  }
});

interface RetryVector {
  name: string; call: VectorCall; attempts: number; responses: ScriptedResponse[];
  expect: { requests: number; waits: Bounds[]; result?: unknown; error?: VectorError };
}

const camel = (key: string): string => key.replace(/_(.)/g, (_, c: string) => c.toUpperCase());

/** contains compares the fields that want has. */
function contains(got: unknown, want: unknown, at = "result"): void {
  if (typeof want !== "object" || want === null) return assert.equal(got, want, at);
  if (Array.isArray(want)) assert.equal((got as unknown[]).length, want.length, at);
  for (const [key, value] of Object.entries(want)) {
    contains((got as Record<string, unknown>)[camel(key)], value, `${at}.${key}`);
  }
}

test("retries", async (t) => {
  for (const v of vectors<Cases<RetryVector>>("retries.json").cases) {
    await t.test(v.name, async (t) => {
      only(v, "name", "call", "attempts", "responses", "expect");
      only(v.expect, "requests", "waits", "result", "error");
      t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
      const { fetch, seen } = script(v.responses);
      let settled = false;
      const call = perform(new Scoreboard({ server, fetch, attempts: v.attempts }), v.call)
        .then((result) => ({ result, error: undefined }), (error: unknown) => ({ result: undefined, error }))
        .finally(() => (settled = true));
      for (await flush(); !settled; await flush()) t.mock.timers.tick(STEP);
      const { result, error } = await call;
      assert.equal(seen.length, v.expect.requests, String(error));
      assert.equal(v.expect.waits.length, v.expect.requests - 1);
      v.expect.waits.forEach(({ min_ms, max_ms }, n) => {
        const waited = seen[n + 1]!.at - seen[n]!.at;
        assert.ok(waited >= min_ms && waited <= max_ms, `waited ${waited} ms, want ${min_ms} to ${max_ms}`);
      });
      const ids = new Set(seen.map(({ body }) => body?.["event_id"]));
      assert.equal(ids.size, 1);
      if (v.call.submit) assert.ok([...ids][0]);
      if (v.expect.error) return checkError(v.expect.error, error);
      assert.equal(error, undefined);
      contains(result, v.expect.result);
    });
  }
});

interface QueuedVector {
  name: string; call: VectorCall; responses: ScriptedResponse[];
  expect: { requests: string[]; receipts?: string[]; error?: VectorError };
}

test("queued", async (t) => {
  for (const v of vectors<Cases<QueuedVector>>("queued.json").cases) {
    await t.test(v.name, async (t) => {
      only(v, "name", "call", "responses", "expect");
      only(v.expect, "requests", "receipts", "error");
      t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
      const { fetch, seen } = script(v.responses);
      let settled = false;
      const call = perform(new Scoreboard({ server, fetch, attempts: 1 }), v.call)
        .then((result) => ({ result, error: undefined }), (error: unknown) => ({ result: undefined, error }))
        .finally(() => (settled = true));
      for (await flush(); !settled; await flush()) t.mock.timers.tick(STEP);
      const { result, error } = await call;
      assert.deepEqual(seen.map(({ method, url }) => `${method} ${url.pathname}${url.search}`), v.expect.requests);
      if (v.expect.error) return checkError(v.expect.error, error);
      assert.equal(error, undefined);
      const all = Array.isArray(result) ? (result as Receipt[]) : [result as Receipt, ...((result as Receipt).matched ?? [])];
      assert.deepEqual(all.map((r) => r.board), v.expect.receipts);
    });
  }
});

interface ReceiptVector {
  name: string; body: unknown;
  event: { id: string; status: string; boards: string[]; code: string; message: string };
}

test("receipts", async () => {
  for (const v of vectors<Cases<ReceiptVector>>("receipts.json").cases) {
    only(v, "name", "body", "event");
    const { fetch } = script([{ body: v.body }]);
    const { receipts, ...event } = await new Scoreboard({ server, fetch, attempts: 1 }).receipt("match-7");
    assert.deepEqual({ ...event, boards: receipts.map((r) => r.board) }, v.event, v.name);
  }
});

interface CursorVector {
  name: string; query: PlaceOf; pages: unknown[]; requests: Record<string, string>[]; users: string[];
}

test("cursors", async () => {
  for (const v of vectors<Cases<CursorVector>>("cursors.json").cases) {
    only(v, "name", "query", "pages", "requests", "users");
    const { fetch, seen } = script(v.pages.map((body) => ({ body })));
    const users: string[] = [];
    for await (const entry of new Scoreboard({ server, fetch, attempts: 1 }).entries(v.query)) users.push(entry.userId);
    assert.deepEqual(users, v.users, v.name);
    assert.deepEqual(seen.map(({ url }) => Object.fromEntries(url.searchParams)), v.requests, v.name);
  }
});

interface RequestVector {
  name: string; prefix?: string; call: VectorCall; method: string; path: string[]; query: Record<string, string>; body?: unknown;
  signed?: { key_id: string; secret: string; scheme: "fields" | "headers" };
}

/** checkSignature checks the signature of a request, and removes it from the body. */
async function checkSignature(signed: NonNullable<RequestVector["signed"]>, seen: Seen): Promise<void> {
  only(signed, "key_id", "secret", "scheme");
  const { headers, body } = seen;
  if (signed.scheme === "fields") {
    const { key_id, signature, ...fields } = body as unknown as Parameters<typeof fieldText>[0];
    assert.deepEqual([key_id, signature], [signed.key_id, await sign(signed.secret, fieldText(fields))]);
    assert.equal(headers["X-Scoreboard-Signature"], undefined);
    seen.body = fields;
    return;
  }
  const timestamp = headers["X-Scoreboard-Timestamp"] ?? "";
  assert.ok(Math.abs(Number(timestamp) * 1000 - Date.now()) < 60_000, timestamp);
  const text = await headerText(seen.method, seen.url.pathname + seen.url.search, signed.key_id, timestamp, seen.text);
  assert.equal(headers["X-Scoreboard-Key"], signed.key_id);
  assert.equal(headers["X-Scoreboard-Signature"], "v1=" + (await sign(signed.secret, text)));
}

/** checkTime replaces the time of an increment. */
function checkTime(increment: Record<string, unknown>): void {
  const stamp = String(increment["timestamp"]);
  assert.match(stamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.ok(Math.abs(Date.parse(stamp) - Date.now()) < 60_000, stamp);
  increment["timestamp"] = "$timestamp";
}

test("requests", async () => {
  for (const v of vectors<Cases<RequestVector>>("requests.json").cases) {
    only(v, "name", "prefix", "call", "method", "path", "query", "body", "signed");
    const prefix = v.prefix ?? "";
    const { fetch, seen } = script([{ status: 500 }]);
    const { key_id: keyId, secret: keySecret } = v.signed ?? {};
    const sb = new Scoreboard({ server: server + prefix, fetch, attempts: 1, keyId, keySecret });
    await perform(sb, v.call).catch(() => {}); // the response does not matter
    assert.equal(seen.length, 1, v.name);
    const { url } = seen[0]!;
    assert.ok(url.pathname.startsWith(prefix + "/v1/"), v.name);
    url.pathname = url.pathname.slice(prefix.length);
    if (v.signed) await checkSignature(v.signed, seen[0]!);
    const { method, body } = seen[0]!;
    const items = (body?.["items"] ?? (v.call.submit || v.call.submit_boards ? [body] : [])) as Record<string, unknown>[];
    items.forEach(checkTime);
    assert.deepEqual({
      method, path: url.pathname.slice(1).split("/").map(decodeURIComponent),
      query: Object.fromEntries(url.searchParams), body,
    }, { method: v.method, path: v.path, query: v.query, body: v.body }, v.name);
  }
});
