import "fake-indexeddb/auto";

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { type Increment, type Receipt, ScoreboardError } from "@scoreboard/client";
import { IndexedDBStore, OfflineQueue, type QueueOptions, type QueueStore } from "@scoreboard/client/queue";
import { FileStore } from "@scoreboard/client/queue/node";

const dir = mkdtempSync(join(tmpdir(), "scoreboard-queue-"));
after(() => rmSync(dir, { recursive: true }));

let files = 0;
const newPath = (): string => join(dir, `queue-${++files}`);

// Node has no locks; one at a time is all that they do.
let lock: Promise<unknown> = Promise.resolve();
Object.defineProperty(globalThis, "navigator", {
  value: { locks: { request: (_: string, __: object, work: () => Promise<void>) => (lock = lock.catch(() => {}).then(work)) } },
});

const stores: [string, () => Promise<QueueStore>][] = [
  ["file", () => FileStore.open(newPath())],
  ["IndexedDB", () => IndexedDBStore.open(newPath())],
];

const unavailable = (): ScoreboardError => new ScoreboardError({ code: "unavailable", message: "offline" });
const coded = (code: string): ScoreboardError => new ScoreboardError({ code, status: 422, message: code });

/** send runs a queue until it is empty, or until run fails. */
async function send(store: QueueStore, options: Omit<QueueOptions, "store">): Promise<void> {
  const ended = new AbortController();
  const queue = new OfflineQueue({ store, ...options });
  const running = queue.run(ended.signal);
  const failed = running.then(() => false, () => true);
  while ((await queue.size()) > 0) {
    if (await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 5))])) break;
  }
  ended.abort();
  await running;
}

const event = (n: number): Increment => ({ userId: "alice", delta: n + 1, eventId: `e${n}` });

for (const [name, open] of stores) {
  test(`${name}: what might count twice is not sent`, async (t) => {
    const day = 24 * 3600_000;
    t.mock.timers.enable({ apis: ["Date"], now: 1_795_262_400_000 });
    for (const [passed, batch, rejected] of [
      [24 * day, 1, []], [25.1 * day, 1, ["e0 gone"]], [25.1 * day, 100, ["e0 gone"]], [-600_000, 1, []], [-2 * day, 1, ["e0 gone"]],
    ] as const) {
      t.mock.timers.setTime(1_795_262_400_000);
      const store = await open();
      await store.put({ userId: "alice", delta: 1, eventId: "e0" }, 10);
      const ended = new AbortController();
      const lost = { submit: () => Promise.reject(unavailable()), submitBatch: () => Promise.reject(unavailable()) };
      await new OfflineQueue({ store, batch, sender: lost, onWaiting: () => ended.abort() }).run(ended.signal);
      await store.put({ userId: "alice", delta: 2, eventId: "e1" }, 10); // never sent
      t.mock.timers.setTime(1_795_262_400_000 + passed);
      const got: string[] = [];
      const sent: string[] = [];
      await send(store, {
        batch, onRejected: (i, e) => void got.push(`${i.eventId} ${e.code}`), onSent: (i) => void sent.push(i.eventId),
        sender: { submit: async () => ({}), submitBatch: async (all) => all.map(() => ({ receipt: {} as Receipt })) },
      });
      assert.deepEqual(got, rejected);
      assert.deepEqual(sent, rejected.length > 0 ? ["e1"] : ["e0", "e1"]);
      await store.close();
    }
  });

  test(`${name}: sends in order, each once`, async () => {
    const store = await open();
    const sent: string[] = [];
    let offline = true;
    const sender = {
      submit: async ({ eventId }: { eventId: string }) => {
        if ((offline = !offline)) throw unavailable(); // every other call
        sent.push(eventId);
      },
    };
    const queue = new OfflineQueue({ store, sender });
    for (let n = 0; n < 5; n++) assert.equal(await queue.add(event(n)), `e${n}`);
    assert.equal(await queue.add(event(3)), "e3"); // waits already
    assert.equal(await queue.size(), 5);
    await assert.rejects(queue.add({ ...event(3), delta: 99 }), { code: "event_conflict", eventId: "e3" });
    const other = { ...event(3), attributes: { region: "eu" } };
    await assert.rejects(queue.add(other), { code: "event_conflict", eventId: "e3" });
    await send(store, { sender });
    assert.deepEqual(sent, ["e0", "e1", "e2", "e3", "e4"]);
    await store.close();
  });

  test(`${name}: keeps the period`, async () => {
    const store = await open();
    const queue = new OfflineQueue({ store, sender: { submit: async () => {} } });
    await queue.add({ ...event(0), board: "weekly", ifPeriod: "weekly:2026-w47" });
    const [first] = await store.first(10);
    assert.equal(first?.increment.ifPeriod, "weekly:2026-w47");
    await store.close();
  });

  test(`${name}: keeps attributes`, async () => {
    const store = await open();
    const queue = new OfflineQueue({ store, sender: { submit: async () => {} } });
    await queue.add({ ...event(0), attributes: { region: "eu", platform: "pc" } });
    await queue.add({ ...event(0), attributes: { platform: "pc", region: "eu" } }); // waits already
    await assert.rejects(queue.add(event(0)), { code: "event_conflict" });
    const [first] = await store.first(10);
    assert.deepEqual(first?.increment.attributes, { platform: "pc", region: "eu" });
    assert.equal(await queue.size(), 1);
    await store.close();
  });

  test(`${name}: is bounded`, async () => {
    const store = await open();
    const queue = new OfflineQueue({ store, sender: { submit: async () => {} }, max: 2 });
    await queue.add(event(0));
    await queue.add(event(1));
    await assert.rejects(queue.add(event(2)), { code: "overloaded", eventId: "e2", temporary: true });
    await queue.add(event(1)); // waits already, so it needs no room
    await assert.rejects(queue.add({ ...event(3), attestation: "x".repeat(5000) }), { code: "payload_too_large" });
    assert.equal(await queue.size(), 2);
    await store.close();
  });

  test(`${name}: stores no signature`, async () => {
    const store = await open();
    const queue = new OfflineQueue({ store, sender: { submit: async () => {} } });
    const signed = { ...event(0), signature: "s", keyId: "k", keySecret: "x", timestamp: "t" };
    await queue.add(signed);
    const [first] = await store.first(10);
    assert.deepEqual(JSON.parse(JSON.stringify(first?.increment)), event(0));
    await store.close();
  });

  test(`${name}: rejected increments`, async () => {
    const store = await open();
    const sender = {
      submit: async ({ eventId }: { eventId: string }) => {
        if (eventId === "e1") throw coded("delta_out_of_range");
      },
    };
    const queue = new OfflineQueue({ store, sender });
    for (let n = 0; n < 3; n++) await queue.add(event(n));
    // Without a function that takes them they stay, and stop the queue.
    await assert.rejects(send(store, { sender }), { code: "delta_out_of_range" });
    assert.deepEqual((await store.first(10)).map((q) => q.increment.eventId), ["e1", "e2"]);
    const rejected: string[] = [];
    await send(store, { sender, onRejected: ({ eventId }, { code }) => void rejected.push(`${eventId} ${code}`) });
    assert.deepEqual(rejected, ["e1 delta_out_of_range"]);
    assert.equal(await store.size(), 0);
    await store.close();
  });

  test(`${name}: waits for a new token`, async () => {
    const store = await open();
    let tries = 0;
    const sender = {
      submit: async () => {
        if (++tries < 3) throw coded("unauthorized");
      },
    };
    await new OfflineQueue({ store, sender }).add(event(0));
    const waits: string[] = [];
    await send(store, { sender, onWaiting: ({ code }) => void waits.push(code) });
    assert.deepEqual([tries, waits], [3, ["unauthorized", "unauthorized"]]);
    await store.close();
  });

  test(`${name}: batches`, async () => {
    const store = await open();
    const sizes: number[] = [];
    let busy = true;
    const sender = {
      submit: () => assert.fail("not in a batch"),
      submitBatch: async (increments: Increment[]) => {
        sizes.push(increments.length);
        return increments.map(({ eventId }) => {
          if (eventId === "e0") return { error: coded("rule_violated") };
          if (eventId === "e1" && busy) return { error: ((busy = false), unavailable()) };
          return { receipt: {} as never };
        });
      },
    };
    const rejected: string[] = [];
    const queue = new OfflineQueue({ store, sender, batch: 3 });
    for (let n = 0; n < 5; n++) await queue.add(event(n));
    await send(store, { sender, batch: 3, onRejected: ({ eventId }) => void rejected.push(eventId) });
    assert.deepEqual([sizes, rejected], [[3, 3], ["e0"]]);
    await store.close();
  });
}

test("a file survives a crash", async () => {
  const path = newPath();
  const queue = new OfflineQueue({ store: await FileStore.open(path), sender: { submit: async () => {} } });
  for (let n = 0; n < 3; n++) await queue.add(event(n));
  appendFileSync(path, '{"key":4,"increment":{"userId":"al'); // half a line, as after a crash
  const copy = newPath();
  writeFileSync(copy, readFileSync(path));
  const store = await FileStore.open(copy);
  assert.deepEqual((await store.first(10)).map((q) => q.increment), [event(0), event(1), event(2)]);
  await store.close();
  assert.equal(statSync(copy).mode & 0o777, 0o600);

  writeFileSync(copy, 'x\n{"removed":[]}\n');
  await assert.rejects(FileStore.open(copy), /line 1 of .* is damaged/);
});

test("a file is used by one process", async () => {
  const path = newPath();
  const store = await FileStore.open(path);
  await assert.rejects(FileStore.open(path), /already open/);
  await store.close();
  writeFileSync(`${path}.lock`, "1"); // runs
  await assert.rejects(FileStore.open(path), /in use by process 1/);
  writeFileSync(`${path}.lock`, "99999999"); // ended
  await (await FileStore.open(path)).close();
});

test("one process takes over a void lock", async () => {
  const program = `
    import { FileStore } from "@scoreboard/client/queue/node";
    process.stdin.once("data", (path) => FileStore.open(String(path)).then(() => "open", String).then(console.log));
    console.log("ready");`;
  for (let round = 0; round < 5; round++) {
    const path = newPath();
    writeFileSync(`${path}.lock`, "99999999 ended");
    const processes = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["pipe", "pipe", "inherit"] }));
    const said = processes.map((p) => createInterface(p.stdout)[Symbol.asyncIterator]());
    for (const lines of said) assert.equal((await lines.next()).value, "ready");
    for (const p of processes) p.stdin.write(path);
    const results: string[] = [];
    for (const lines of said) results.push(String((await lines.next()).value));
    for (const p of processes) p.kill();
    const others = results.filter((r) => r !== "open");
    assert.equal(others.length, 5, results.join("\n"));
    for (const r of others) assert.match(r, /in use by process|another process is opening/);
  }
});

test("two opens in one process", async () => {
  const path = newPath();
  const [first, second] = await Promise.allSettled([FileStore.open(path), FileStore.open(path)]);
  assert.equal(first.status, "fulfilled");
  assert.match(String(second.status === "rejected" && second.reason), /already open/);
});

test("a file does not grow with what was sent", async () => {
  const path = newPath();
  const store = await FileStore.open(path);
  for (let n = 0; n < 2_000; n += 100) {
    const adding = Array.from({ length: 100 }, (_, i) => store.put({ ...event(n + i), eventId: `e${n + i}` }, 1_000));
    await Promise.all(adding);
    await store.remove((await store.first(100)).map((q) => q.key));
  }
  assert.ok(readFileSync(path, "utf8").split("\n").length < 1_300);
  await store.close();
});
