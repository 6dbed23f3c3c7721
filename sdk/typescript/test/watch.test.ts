import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Scoreboard, ScoreboardError, type Socket, type State, type WebSocketClass } from "@scoreboard/client";
import { WebSocket } from "ws";

import { Daemon } from "./daemon.js";
import { flush } from "./vectors.js";

let daemon: Daemon;
let game: Scoreboard;
const webSocket = WebSocket as unknown as WebSocketClass;

before(async () => {
  daemon = await Daemon.start("--ephemeral", "--realtime-ping", "1s");
  game = new Scoreboard(daemon.credentials());
});
after(() => daemon.stop());

/** follow reads states until one is as wanted. */
async function follow(sb: Scoreboard, board: string, wanted: (state: State) => boolean): Promise<State> {
  const signal = AbortSignal.timeout(30_000);
  let last: State | undefined;
  for await (const state of sb.watch({ board, limit: 100 }, { signal })) {
    if (wanted((last = state))) return state;
  }
  assert.fail(`the last state was ${JSON.stringify(last)} ${String(last?.error)}`);
}

const has = (userId: string, score: number) => (state: State): boolean =>
  state.top.some((e) => e.userId === userId && e.score === score);

for (const [kind, options] of [["ws", { webSocket }], ["sse", { webSocket: false }]] as const) {
  test(`${kind}: changes, the user's own and a heartbeat`, async () => {
    const board = `watch-${kind}`;
    daemon.sbctl("board", "create", board);
    const sb = new Scoreboard({ server: daemon.url, token: daemon.token("alice"), ...options });
    let submitted = 0;
    const connections = new Set<string>();
    const state = await follow(sb, board, (state) => {
      connections.add(state.connection);
      if (state.top.length === submitted && submitted < 5) {
        void game.submit({ userId: submitted === 4 ? "alice" : `u${submitted}`, delta: 10 + submitted++, board });
      }
      return state.top.length === 5 && state.me !== undefined;
    });
    assert.deepEqual(state.top.map((e) => e.rank), [1, 2, 3, 4, 5]);
    assert.deepEqual([state.top[0]?.userId, state.top[0]?.score], ["alice", 14]);
    assert.deepEqual([state.me?.userId, state.me?.score, state.me?.rank], ["alice", 14, 1]);
    assert.deepEqual([...connections].filter((c) => c !== "disconnected"), [kind]);
    assert.equal(state.board, board);
  });
}

test("sse: a heartbeat confirms the rows", async () => {
  const sb = new Scoreboard({ ...daemon.credentials(), webSocket: false });
  let first: Date | undefined;
  await follow(sb, "global", ({ heardAt, connection }) => {
    if (connection === "sse") first ??= heardAt;
    return first !== undefined && heardAt! > first;
  });
});

test("ws: subscribing again is answered", async () => {
  // What a watch does on a silent WebSocket. The daemon must answer it, also with a ticket.
  const sb = new Scoreboard({ server: daemon.url, token: daemon.token("bob") });
  const { token } = await sb.realtimeToken("global");
  const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/v1/realtime/leaderboard?board=global&delta=1&token=${token}`);
  const types: string[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.on("close", reject);
    socket.on("message", (data) => {
      types.push((JSON.parse(String(data)) as { type: string }).type);
      if (types.length === 2) return resolve();
      for (const type of ["unsubscribe", "subscribe"]) socket.send(JSON.stringify({ type, board: "global" }));
    });
  });
  socket.removeAllListeners("close").close();
  assert.deepEqual(types, ["leaderboard.updated", "leaderboard.updated"]);
});

test("falls back to events, then to polls", async () => {
  const unreachable = (class {
    constructor() {
      throw new Error("blocked");
    }
  }) as unknown as WebSocketClass;
  await game.submit({ userId: "fallback", delta: 3 });
  const state = await follow(new Scoreboard({ ...daemon.credentials(), webSocket: unreachable }), "global", has("fallback", 3));
  assert.equal(state.connection, "sse");

  const blocked: typeof fetch = (input, init) => {
    if (String(input).includes("/realtime/")) return Promise.reject(new TypeError("blocked"));
    return fetch(input, init);
  };
  const sb = new Scoreboard({ ...daemon.credentials(), webSocket: unreachable, fetch: blocked });
  const polled = await follow(sb, "global", has("fallback", 3));
  assert.equal(polled.connection, "polling");
  assert.match(String(polled.error), /blocked/);
});

test("a rejected watch fails", async () => {
  for (const [sb, board, code] of [
    [new Scoreboard({ server: daemon.url, token: "wrong", webSocket }), "global", "unauthorized"],
    [new Scoreboard({ ...daemon.credentials(), webSocket }), "no-such-board", "not_found"],
  ] as const) {
    await assert.rejects(follow(sb, board, () => false), (e: unknown) => e instanceof ScoreboardError && e.code === code);
  }
});

test("a signal ends a watch", async () => {
  const left = new AbortController();
  let states = 0;
  for await (const _ of game.watch({}, { signal: left.signal })) {
    states++;
    left.abort();
  }
  assert.equal(states, 1);
  for await (const _ of game.watch({}, { signal: left.signal })) assert.fail("after it was aborted");
});

test("a silent WebSocket is tried, then replaced", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.now() });
  const sockets: (Socket & { sent: string[]; closed: boolean })[] = [];
  class Silent {
    onopen = null; onmessage = null; onclose = null; onerror = null;
    sent: string[] = [];
    closed = false;
    constructor() {
      sockets.push(this as never);
    }
    send(text: string): void {
      this.sent.push((JSON.parse(text) as { type: string }).type);
    }
    close(): void {
      this.closed = true;
    }
  }
  const left = new AbortController();
  const sb = new Scoreboard({ server: "https://scores.example.com", webSocket: Silent as unknown as WebSocketClass });
  let last: State | undefined;
  const watching = (async () => {
    for await (const state of sb.watch({}, { signal: left.signal })) last = state;
  })();
  await flush();
  const socket = sockets[0]!;
  socket.onopen?.(undefined as never);
  const frame = { type: "leaderboard.updated", board: "global", epoch: 7, version: 1, ts: "", top: [] };
  socket.onmessage?.({ data: JSON.stringify(frame) } as never);
  await flush();
  assert.equal(last?.connection, "ws");
  const pass = async (seconds: number): Promise<void> => {
    for (let n = 0; n < seconds; n++) {
      t.mock.timers.tick(1_000);
      await flush();
    }
  };
  await pass(24);
  assert.deepEqual(socket.sent, []);
  await pass(2);
  assert.deepEqual(socket.sent, ["unsubscribe", "subscribe"]);
  await pass(50);
  assert.equal(socket.closed, true);
  assert.equal(sockets.length, 2);
  left.abort();
  await watching;
});
