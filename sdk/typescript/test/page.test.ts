import { Window } from "happy-dom";

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";

import { Scoreboard } from "@scoreboard/client";

import { Daemon, until } from "./daemon.js";

const window = new Window();
Object.assign(globalThis, {
  window, document: window.document, HTMLElement: window.HTMLElement, customElements: window.customElements,
});
Object.defineProperty(globalThis, "navigator", { value: window.navigator });

let daemon: Daemon;
let sb: Scoreboard;

before(async () => {
  daemon = await Daemon.start("--ephemeral");
  sb = new Scoreboard(daemon.credentials());
  await sb.submit({ userId: "ada", delta: 5 });
  daemon.sbctl("board", "create", "other");
  await sb.submit({ userId: "bob", delta: 7, board: "other" });
});
after(async () => {
  await window.happyDOM.close();
  await daemon.stop();
});

test("a server imports the element", () => {
  const program = `
    import { defineElement, ScoreboardTop } from "@scoreboard/client/element";
    defineElement();
    console.log(typeof ScoreboardTop);`;
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  assert.equal(said, "function\n");
});

test("the React hook", async () => {
  const { createElement } = await import("react");
  const { createRoot } = await import("react-dom/client");
  const { useLeaderboard } = await import("@scoreboard/client/react");
  const Board = ({ board }: { board: string }) => {
    const { state, error } = useLeaderboard(sb, { board, limit: 10 });
    return createElement("p", null, error ? String(error) : state?.top.map((e) => `${e.userId} ${e.score}`).join());
  };
  const container = document.createElement("div");
  const root = createRoot(container);
  root.render(createElement(Board, { board: "global" }));
  await until("the first state", () => container.textContent === "ada 5");
  await sb.submit({ userId: "ada", delta: 1 });
  await until("a change", () => container.textContent === "ada 6");
  root.render(createElement(Board, { board: "other" }));
  await until("another board", () => container.textContent === "bob 7");
  root.render(createElement(Board, { board: "unknown" }));
  await until("the rejection", () => /board/.test(container.textContent ?? ""));
  root.unmount();
});

test("the element", async () => {
  const { defineElement, ScoreboardTop } = await import("@scoreboard/client/element");
  defineElement();
  defineElement();
  const element = document.createElement("scoreboard-top") as InstanceType<typeof ScoreboardTop>;
  const text = (): string =>
    [...element.shadowRoot!.querySelectorAll("tr")].map((tr) => [...tr.children].map((c) => c.textContent).join(" ")).join();
  element.client = sb;
  document.body.append(element);
  await until("the first state", () => /^1 ada \d$/.test(text()));
  const evil = "<img src=x onerror=alert(1)>";
  await sb.putProfile("ada", { displayName: evil, avatarUrl: "https://images.example.com/a.png" });
  await sb.submit({ userId: "ada", delta: 2 });
  await until("a name as text", () => text().startsWith(`1 ${evil}`));
  const images = element.shadowRoot!.querySelectorAll("img");
  assert.deepEqual([...images].map((i) => i.src), ["https://images.example.com/a.png"]);
  element.setAttribute("board", "other");
  await until("another board", () => text() === "1 bob 7");
  element.setAttribute("board", "unknown");
  await until("the rejection", () => /Check/.test(element.shadowRoot!.querySelector("p")!.textContent));
  element.remove();
  element.setAttribute("board", "other");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(text(), "");
});
