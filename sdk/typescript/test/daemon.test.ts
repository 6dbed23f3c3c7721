import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { MAX_BATCH, newEventId, type Receipt, renewing, Scoreboard, ScoreboardError } from "@scoreboard/client";
import { OfflineQueue } from "@scoreboard/client/queue";
import { FileStore } from "@scoreboard/client/queue/node";

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Daemon } from "./daemon.js";

let daemon: Daemon;
let sb: Scoreboard;

before(async () => {
  daemon = await Daemon.start("--ephemeral");
  sb = new Scoreboard(daemon.credentials());
});
after(() => daemon.stop());

const failure = (call: Promise<unknown>): Promise<ScoreboardError> =>
  call.then(() => assert.fail("no error"), (error: unknown) => {
    assert.ok(error instanceof ScoreboardError, String(error));
    return error;
  });

test("the code of the README", async () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const code = /^```ts\n([^]*?)^```$/m.exec(await readFile(join(root, "README.md"), "utf8"))?.[1] ?? assert.fail("no code");
  const file = fileURLToPath(new URL("readme.mjs", import.meta.url));
  await writeFile(file, code);
  const { server, token, keyId, keySecret } = daemon.credentials();
  const env = {
    ...process.env, SBCTL_SERVER: server, SBCTL_TOKEN: String(token), SBCTL_KEY_ID: keyId, SBCTL_KEY_SECRET: keySecret,
  };
  for (const replayed of [false, true]) {
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: 60_000 });
    assert.match(stdout, new RegExp(`^\\d+ ${replayed}$`, "m"));
  }
});

test("the first lines", async () => {
  const eventId = newEventId();
  const r = await sb.submit({ userId: "first", delta: 5, eventId });
  assert.deepEqual([r.newScore, r.replayed, r.processedEventId], [5, false, eventId]);
  assert.equal((await sb.submit({ userId: "first", delta: 5, eventId })).replayed, true);
  await sb.score("first", { minVersion: r.version });
  const { entries } = await sb.top({ board: "global", limit: 100 });
  assert.equal(entries.find((e) => e.userId === "first")?.score, 5);
  for await (const state of sb.watch({ board: "global" })) {
    if (state.top.some((e) => e.userId === "first")) break;
  }
});

test("the environment's credentials", async () => {
  const { server, token, keyId, keySecret } = daemon.credentials();
  Object.assign(process.env, {
    SBCTL_SERVER: server, SBCTL_TOKEN: token, SBCTL_KEY_ID: keyId, SBCTL_KEY_SECRET: keySecret,
  });
  assert.equal((await new Scoreboard().submit({ userId: "env", delta: 1 })).newScore, 1);
  // Another server gets none of them.
  const elsewhere = await failure(new Scoreboard({ server }).submit({ userId: "env", delta: 1 }));
  assert.equal(elsewhere.code, "unauthorized");
  delete process.env["SBCTL_SERVER"];
  assert.throws(() => new Scoreboard(), /SBCTL_SERVER/);
});

test("a batch has a result for each", async () => {
  const increments = [{ userId: "batch", delta: 2 }, { userId: "batch", delta: 0 }, { userId: "batch", delta: 3 }];
  const [one, two, three] = await sb.submitBatch(increments);
  assert.equal(one?.receipt?.newScore, 2);
  assert.deepEqual([two?.error?.code, two?.error?.field], ["invalid_request", "delta"]);
  assert.equal(three?.receipt?.newScore, 5);
  // The event ids are kept, so a repeat counts nothing.
  const again = await sb.submitBatch(increments);
  assert.deepEqual([again[2]?.receipt?.replayed, again[2]?.receipt?.newScore], [true, 5]);
  assert.equal(MAX_BATCH, 500);
});

test("one increment on several boards", async () => {
  daemon.sbctl("board", "create", "second");
  const receipts = await sb.submitBoards({ userId: "both", delta: 4 }, ["global", "second"]);
  assert.deepEqual(receipts.map((r) => [r.board, r.newScore]), [["global", 4], ["second", 4]]);
  const event = await sb.receipt(receipts[0]!.processedEventId, { userId: "both" });
  assert.deepEqual([event.status, event.receipts.length], ["done", 2]);
});

test("attributes reach boards by their rules", async () => {
  daemon.sbctl("board", "create", "ruled");
  daemon.sbctl("board", "rules", "set", "ruled", "--region", "eu");
  const increment = { userId: "rosa", delta: 5, eventId: "rules-1", attributes: { region: "eu", platform: "pc" } };
  const first = await sb.submit(increment);
  assert.deepEqual([first.board, first.newScore, first.replayed], ["global", 5, false]);
  assert.deepEqual(first.matched?.map((r) => [r.board, r.newScore, r.replayed]), [["ruled", 5, false]]);
  const again = await sb.submit({ ...increment, attributes: { platform: "pc", region: "eu" } });
  assert.deepEqual([again.replayed, again.matched?.map((r) => r.replayed)], [true, [true]]);
  const other = await failure(sb.submit({ ...increment, attributes: { region: "us" } }));
  assert.deepEqual([other.status, other.code, other.eventId], [409, "event_conflict", "rules-1"]);
  assert.equal((await sb.submit({ userId: "rosa", delta: 1, attributes: { region: "us" } })).matched, undefined);

  const nine = Object.fromEntries([..."abcdefghi"].map((name) => [name, "x"]));
  const many = await failure(sb.submit({ userId: "rosa", delta: 1, attributes: nine }));
  assert.deepEqual([many.status, many.field], [400, "attributes"]);
  const wrong = new Scoreboard({ ...daemon.credentials(), keySecret: "sk_wrong" });
  assert.equal((await failure(wrong.submit({ ...increment, eventId: "rules-2" }))).code, "invalid_signature");

  const [one, two] = await sb.submitBatch([{ ...increment, eventId: "rules-3" }, { userId: "rosa", delta: 1 }]);
  assert.deepEqual(one?.receipt?.matched?.map((r) => [r.board, r.newScore]), [["ruled", 10]]);
  assert.equal(two?.receipt?.matched, undefined);
  const { id } = await sb.submitAsync({ ...increment, eventId: "rules-4" });
  const event = await sb.waitForEvent(id, { userId: "rosa" });
  assert.deepEqual(event.receipts.map((r) => r.board), ["global", "ruled"]);
  const known = await sb.submitAsync({ ...increment, eventId: "rules-4" });
  assert.deepEqual([known.status, known.receipts.map((r) => r.board)], ["done", ["global", "ruled"]]);
});

test("a queue sends attributes", async () => {
  daemon.sbctl("board", "create", "ruled-later");
  daemon.sbctl("board", "rules", "set", "ruled-later", "--attribute", "platform=later");
  for (const batch of [1, 10]) {
    const store = await FileStore.open(join(daemon.dir, `queue-${batch}`));
    const ended = new AbortController();
    const receipts: Receipt[] = [];
    const queue = new OfflineQueue({
      store, sender: sb, batch,
      onSent: (_, receipt) => {
        receipts.push(receipt as Receipt);
        if (receipts.length === 2) ended.abort();
      },
    });
    for (const platform of ["later", "now"]) {
      await queue.add({ userId: "queued", delta: 1, eventId: `${platform}-${batch}`, attributes: { platform } });
    }
    await queue.run(ended.signal);
    await store.close();
    assert.deepEqual(receipts.map((r) => r.matched?.map((m) => m.board)), [["ruled-later"], undefined]);
  }
});

test("a queued increment is waited for", async () => {
  const { id } = await sb.submitAsync({ userId: "later", delta: 7 });
  const event = await sb.waitForEvent(id, { userId: "later" });
  assert.deepEqual([event.status, event.receipts[0]?.newScore], ["done", 7]);
  const unknown = await failure(sb.waitForEvent("never-sent", { userId: "later", timeout: 100 }));
  assert.deepEqual([unknown.code, unknown.eventId], ["unavailable", "never-sent"]);
});

test("submit waits for a queued increment", async () => {
  daemon.sbctl("board", "create", "zeta");
  daemon.sbctl("board", "create", "alpha", "--period", "daily");
  daemon.sbctl("board", "create", "ruled-queued");
  daemon.sbctl("board", "rules", "set", "ruled-queued", "--region", "queued");
  const statuses: number[] = [];
  const queueing = new Scoreboard({
    ...daemon.credentials(),
    fetch: async (input, init) => {
      const headers = { ...(init?.headers as Record<string, string>), Prefer: "respond-async" };
      const response = await fetch(input, { ...init, headers });
      statuses.push(response.status);
      return response;
    },
  });
  const boards = ["zeta", "alpha", "global"];
  const receipts = await queueing.submitBoards({ userId: "queued-1", delta: 5 }, boards);
  assert.deepEqual(receipts.map((r) => [r.board.split(":")[0], r.newScore]), boards.map((b) => [b, 5]));
  const r = await queueing.submit({ userId: "queued-2", delta: 5, attributes: { region: "queued" } });
  assert.deepEqual([r, ...(r.matched ?? [])].map((m) => [m.board, m.newScore, m.status]), [
    ["global", 5, "done"], ["ruled-queued", 5, "done"],
  ]);
  assert.equal(statuses.filter((s) => s === 202).length, 2);
});

test("an action's token", async () => {
  daemon.sbctl("board", "create", "races", "--require", "action-token");
  const missing = await failure(sb.submit({ userId: "racer", delta: 1, board: "races", action: "race" }));
  assert.deepEqual([missing.code, missing.field], ["rule_violated", "action_token"]);
  const { actionToken } = await sb.startAction({ userId: "racer", board: "races", action: "race" });
  const r = await sb.submit({ userId: "racer", delta: 9, board: "races", action: "race", actionToken });
  assert.equal(r.newScore, 9);
});

test("reads", async () => {
  const increments = Array.from({ length: 25 }, (_, n) => ({ userId: `reader-${n}`, delta: 100 - n, board: "reads" }));
  daemon.sbctl("board", "create", "reads");
  const results = await sb.submitBatch(increments);
  assert.ok(results.every((r) => r.receipt), JSON.stringify(results[0]?.error));
  await sb.score("reader-24", { board: "reads", minVersion: 1 });
  const users: string[] = [];
  for await (const e of sb.entries({ board: "reads", limit: 10 })) users.push(e.userId);
  assert.deepEqual(users, increments.map((i) => i.userId));
  const place = await sb.rank("reader-3", { board: "reads", neighbours: 1 });
  assert.deepEqual([place.rank, place.neighbours?.length], [4, 3]);
  assert.deepEqual((await sb.users(["reader-0", "nobody"], { board: "reads" })).notFound, ["nobody"]);
  const mine = new Scoreboard({ server: daemon.url, token: daemon.token("reader-0") });
  assert.equal((await mine.me({ board: "reads" })).score, 100);
  const why = await mine.explainRank("me", { board: "reads" });
  assert.deepEqual([why.rank, why.sources.submitted, why.below?.difference], [1, 100, 1]);
  const reached = new Date(Math.ceil(new Date(why.reachedAt).getTime()) + 1);
  const history = await mine.rankHistory("me", { board: "reads", from: reached, to: reached, step: "1s" });
  assert.deepEqual(history.points.map((p) => p.score), [100]);
  const timeline = await sb.timeline({ board: "reads", from: why.reachedAt, to: why.reachedAt });
  assert.deepEqual([timeline.frames.length, timeline.frames[0]?.entries[0]?.userId, timeline.nextFrom], [1, "reader-0", undefined]);
  const events: number[] = [];
  for await (const event of mine.statementEntries("reader-0")) events.push(event.newScore);
  assert.deepEqual(events, [100]);
  await mine.putProfile("reader-0", { displayName: "Zoë" });
  assert.equal((await mine.profile("reader-0")).displayName, "Zoë");
  assert.equal((await failure(sb.score("nobody"))).code, "not_found");
  assert.equal((await failure(sb.score(".."))).code, "invalid_request");
});

test("a signal ends a call", async () => {
  const aborted = AbortSignal.abort();
  const error = await failure(sb.submit({ userId: "a", delta: 1, eventId: "kept" }, { signal: aborted }));
  assert.deepEqual([error.name, error.eventId, error.cause], ["AbortError", "kept", aborted.reason]);
  const waiting = new Scoreboard({ server: "http://127.0.0.1:1", attempts: 100 });
  assert.equal((await failure(waiting.top({}, { signal: AbortSignal.timeout(300) }))).name, "TimeoutError");
});

test("a wrong signature is rejected", async () => {
  const wrong = new Scoreboard({ ...daemon.credentials(), keySecret: "sk_wrong" });
  assert.equal((await failure(wrong.submit({ userId: "a", delta: 1 }))).code, "invalid_signature");
  assert.equal((await failure(wrong.submitBatch([{ userId: "a", delta: 1 }]))).code, "invalid_signature");
});

test("a token is renewed before it expires", async () => {
  let fetched = 0;
  const token = renewing(async () => {
    fetched++;
    return { token: daemon.token("renewed"), expiresAt: Date.now() + 31_000 };
  });
  const client = new Scoreboard({ server: daemon.url, token });
  await Promise.all([client.top(), client.top(), client.top()]);
  assert.equal(fetched, 1);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await client.top();
  assert.equal(fetched, 2);
});

// Node always, others where they are installed.
for (const [runtime, args, connection] of [
  ["node", ["--no-experimental-websocket"], "sse"], ["node", ["--experimental-websocket"], "ws"],
  ["deno", ["run", "--allow-env", "--allow-net"], "ws"], ["bun", [], "ws"],
] as [string, string[], string][]) {
  test(`${runtime} ${args.join(" ")} over ${connection}`, async (t) => {
    const { server, token, keyId, keySecret } = daemon.credentials();
    const env = {
      ...process.env, SBCTL_SERVER: server, SBCTL_TOKEN: String(token), SBCTL_KEY_ID: keyId, SBCTL_KEY_SECRET: keySecret,
    };
    const script = fileURLToPath(new URL("../scripts/try.mjs", import.meta.url));
    try {
      const { stdout } = await promisify(execFile)(runtime, [...args, script], { env, timeout: 60_000 });
      assert.equal(stdout.trim(), connection);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || runtime === "node") throw error;
      t.diagnostic(`${runtime} is not installed`);
    }
  });
}
