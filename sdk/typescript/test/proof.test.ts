import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Scoreboard, type State, type StatementEntry, type WebSocketClass } from "@scoreboard/client";
import { OfflineQueue } from "@scoreboard/client/queue";
import { FileStore } from "@scoreboard/client/queue/node";
import { WebSocket } from "ws";

import { Daemon, freePort, until } from "./daemon.js";
import { Proxy } from "./proxy.js";

// Nothing is counted twice, nothing is lost, and the order is kept: through a server that is
// killed, a Redis that is emptied, tokens that expire and a network that is slow and breaks.

const dir = mkdtempSync(join(tmpdir(), "scoreboard-proof-"));
let redis: ChildProcess;
let redisPort: number;
let daemon: Daemon;
let proxy: Proxy;
let expired: string; // after some 30 s, for so much may clocks differ

before(async () => {
  redisPort = await freePort();
  redis = spawn("redis-server", ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--dir", dir], {
    stdio: "ignore",
  });
  daemon = await Daemon.start("--redis-url", `redis://127.0.0.1:${redisPort}/0`);
  proxy = new Proxy(daemon.port);
  expired = mint();
});
after(async () => {
  await proxy.close().catch(() => {});
  await daemon.stop();
  redis.kill();
  rmSync(dir, { recursive: true, force: true });
});

const mint = (): string => daemon.token("expiry", "--ttl", "3s", "--scope", "score:update");
const own = (): Scoreboard => new Scoreboard(daemon.credentials());
const through = (more = {}): Scoreboard => new Scoreboard({ ...daemon.credentials(), server: proxy.url, ...more });

/** ledger is all that counted for a user on a board, oldest first. */
async function ledger(userId: string, board: string): Promise<StatementEntry[]> {
  const entries: StatementEntry[] = [];
  for await (const entry of own().statementEntries(userId, { board, limit: 100 })) entries.unshift(entry);
  return entries;
}

/** Watching is a watch that runs until stop, and fails if it ever goes back. */
class Watching {
  last: State | undefined;
  readonly #left = new AbortController();
  readonly #run: Promise<void>;

  constructor(sb: Scoreboard, board: string) {
    this.#run = (async () => {
      for await (const state of sb.watch({ board, limit: 10 }, { signal: this.#left.signal })) {
        const before = this.last;
        assert.ok(
          !before || state.epoch > before.epoch || (state.epoch === before.epoch && state.version >= before.version),
          `went back from ${before?.epoch}:${before?.version} to ${state.epoch}:${state.version}`,
        );
        this.last = state;
      }
    })();
  }

  get top(): string {
    return (this.last?.top ?? []).map((e) => `${e.userId} ${e.score}`).join();
  }

  async stop(): Promise<void> {
    this.#left.abort();
    await this.#run;
  }
}

test("10,000 offline submits", { timeout: 300_000 }, async () => {
  const board = "offline";
  const users = Array.from({ length: 20 }, (_, n) => `player-${n}`);
  daemon.sbctl("board", "create", board);
  const path = join(dir, "queue");
  let store = await FileStore.open(path);
  await proxy.open(); // to know its port
  await proxy.close();

  // Offline: all are stored, and none can be sent.
  let waited = 0;
  let sent = 0;
  const options = () => ({
    store, sender: through({ attempts: 2 }), batch: 100, onWaiting: () => void waited++, onSent: () => void sent++,
  });
  let queue = new OfflineQueue(options());
  let online = new AbortController();
  let running = queue.run(online.signal);
  const adding: Promise<string>[] = [];
  for (let n = 0; n < 10_000; n++) {
    adding.push(queue.add({ userId: users[n % 20]!, delta: 1 + (n % 7), eventId: `offline-${n}`, board }));
  }
  await Promise.all(adding);
  await assert.rejects(queue.add({ userId: "late", delta: 1, board }), { code: "overloaded" });
  await until("a try to send", () => waited > 0);
  assert.equal(sent, 0);

  // Online, until a third was sent; then the server is killed.
  const watches = [
    new Watching(through({ webSocket: WebSocket as unknown as WebSocketClass }), board),
    new Watching(through({ webSocket: false }), board),
  ];
  await proxy.open();
  await until("a third", () => sent > 3_300);
  await daemon.kill();
  // The client crashes, too: what it sent last, and did not delete yet, is sent again.
  online.abort();
  await running;
  await store.close();
  await daemon.run();
  store = await FileStore.open(path);
  assert.ok((await store.size()) < 10_000);
  queue = new OfflineQueue(options());
  online = new AbortController();
  running = queue.run(online.signal);
  await until("two thirds", () => sent > 6_600);
  execFileSync("redis-cli", ["-p", String(redisPort), "flushall"]);
  await until("an empty queue", async () => (await queue.size()) === 0);
  online.abort();
  await running;
  await store.close();

  const standings: [string, number][] = [];
  for (const [u, user] of users.entries()) {
    const events = await ledger(user, board);
    const want = Array.from({ length: 500 }, (_, i) => `offline-${i * 20 + u}`);
    assert.deepEqual(events.map((e) => e.eventId), want, `the events of ${user}`);
    const total = want.reduce((sum, id) => sum + 1 + (Number(id.slice(8)) % 7), 0);
    assert.equal(events.at(-1)?.newScore, total);
    standings.push([user, total]);
  }
  // The ranking was rebuilt from the ledger, and both watches show it.
  const best = Math.max(...standings.map(([, total]) => total));
  await until("the watches", async () => {
    const { entries, degraded } = await own().top({ board, limit: 10 });
    const top = entries.map((e) => `${e.userId} ${e.score}`).join();
    return !degraded && entries[0]?.score === best && watches.every((w) => w.top === top && w.last?.degraded === "");
  });
  for (const watch of watches) {
    assert.ok((watch.last?.reconnects ?? 0) >= 1);
    await watch.stop();
  }
  await proxy.close();
});

test("a slow network that loses responses", { timeout: 120_000 }, async () => {
  const board = "lossy";
  daemon.sbctl("board", "create", board);
  await proxy.open();
  proxy.delay = 50;
  proxy.cut = 0.3;
  const sb = through({ attempts: 20 });
  let replayed = 0;
  const submit = async (n: number): Promise<void> => {
    replayed += Number((await sb.submit({ userId: "lossy", delta: 1, eventId: `lossy-${n}`, board })).replayed);
  };
  for (let n = 0; n < 60; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => submit(n + i)));
  proxy.delay = proxy.cut = 0;
  const events = await ledger("lossy", board);
  assert.equal(events.length, 60);
  assert.equal(events.at(-1)?.newScore, 60);
  assert.ok(proxy.lost > 0 && replayed > 0, `${proxy.lost} lost, ${replayed} replayed`);
  await proxy.close();
});

test("a clock that is wrong by an hour", { timeout: 120_000 }, async (t) => {
  for (const hours of [-1, 1]) {
    const userId = `clock${hours}`;
    const { now } = Date;
    let wrongBy = hours * 3_600_000;
    t.mock.method(Date, "now", () => now() + wrongBy);
    const store = await FileStore.open(join(dir, userId));
    const waits: string[] = [];
    const ended = new AbortController();
    const queue = new OfflineQueue({
      store, sender: own(), onSent: () => ended.abort(),
      onWaiting: ({ code }) => {
        waits.push(code);
        wrongBy = 0;
      },
    });
    await queue.add({ userId, delta: 7, attributes: { region: "eu" } }); // signed in the headers, with Date.now
    await queue.run(ended.signal);
    await store.close();
    t.mock.reset();
    assert.deepEqual(waits, ["invalid_signature"]);
    assert.deepEqual((await ledger(userId, "global")).map((e) => e.delta), [7]);
  }
});

// Queues and sends two increments, and is killed before or after a step of the store or the sender.
const KILLED = `
  import { Scoreboard } from "@scoreboard/client";
  import { OfflineQueue } from "@scoreboard/client/queue";
  import { FileStore } from "@scoreboard/client/queue/node";
  const [path, userId, at] = process.argv.slice(1);
  let left = Number(at);
  const step = () => { if (--left === 0) process.kill(process.pid, "SIGKILL"); };
  const withSteps = (target, names) => new Proxy(target, {
    get: (of, name) => !names.includes(name) ? of[name].bind(of) : async (...args) => {
      step();
      const result = await of[name](...args);
      step();
      return result;
    },
  });
  const store = await FileStore.open(path);
  const ended = new AbortController();
  const queue = new OfflineQueue({
    store: withSteps(store, ["put", "sending", "remove"]), sender: withSteps(new Scoreboard(), ["submit"]),
    onSent: async () => { if ((await store.size()) === 0) ended.abort(); },
  });
  for (const delta of [1, 2]) await queue.add({ userId, delta, eventId: "e" + delta });
  await queue.run(ended.signal);
  await store.close();`;

test("a queue that is killed at each step", { timeout: 300_000 }, async () => {
  const { server, token, keyId, keySecret } = daemon.credentials();
  const env = {
    ...process.env, SBCTL_SERVER: server, SBCTL_TOKEN: String(token), SBCTL_KEY_ID: keyId, SBCTL_KEY_SECRET: keySecret,
  };
  const run = (userId: string, step: number) =>
    spawnSync(process.execPath, ["--input-type=module", "-e", KILLED, join(dir, userId), userId, String(step)], {
      env, stdio: "inherit", timeout: 60_000,
    });
  let step = 0;
  for (let killed = true; killed; ) {
    const userId = `step-${++step}`;
    const { status, signal } = run(userId, step);
    killed = signal === "SIGKILL";
    assert.ok(killed || status === 0, `${status} ${signal}`);
    assert.equal(run(userId, 0).status, 0, "the second run");
    assert.deepEqual((await ledger(userId, "global")).map((e) => e.delta), [1, 2], `killed at step ${step}`);
  }
  assert.ok(step > 14, `${step} steps`);
});

test("tokens that expire", { timeout: 120_000 }, async () => {
  const board = "expiry";
  daemon.sbctl("board", "create", board);
  let token = expired;
  const store = await FileStore.open(join(dir, "expiry"));
  const sb = new Scoreboard({ ...daemon.credentials(), token: () => token });
  const waits: string[] = [];
  const queue = new OfflineQueue({ store, sender: sb, onWaiting: ({ code }) => void waits.push(code) });
  const ended = new AbortController();
  const running = queue.run(ended.signal);
  await until("the token to expire", () => sb.top().then(() => false, () => true));
  for (let n = 0; n < 5; n++) await queue.add({ userId: "expiry", delta: 1, eventId: `e${n}`, board });
  await until("a rejected token", () => waits.includes("unauthorized"));
  assert.equal(await queue.size(), 5);
  token = mint();
  await until("an empty queue", async () => (await queue.size()) === 0);
  ended.abort();
  await running;
  await store.close();
  assert.deepEqual((await ledger("expiry", board)).map((e) => e.eventId), ["e0", "e1", "e2", "e3", "e4"]);

  // Each stream ends with its token; the watch goes on with the next one.
  const webSocket = WebSocket as unknown as WebSocketClass;
  const watch = new Watching(new Scoreboard({ server: daemon.url, token: mint, webSocket }), board);
  await until("two reconnects", () => (watch.last?.reconnects ?? 0) >= 2);
  await own().submit({ userId: "after", delta: 99, board });
  await until("the change", () => watch.top.startsWith("after 99"));
  await watch.stop();
});
