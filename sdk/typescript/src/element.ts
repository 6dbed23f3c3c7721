import type { Scoreboard } from "./client.js";
import { ScoreboardError } from "./error.js";
import { follow, type LiveBoard } from "./follow.js";
import type { Entry } from "./types.js";
import type { Connection, WatchOptions } from "./watch/state.js";

const STYLE = `
  :host { display: block; font-variant-numeric: tabular-nums }
  table { border-collapse: collapse; width: 100% }
  td { padding: .2em .5em } td:first-child, td:last-child { text-align: right }
  small { opacity: .7 }
  img { block-size: 1.5em; border-radius: 50%; inline-size: 1.5em; margin-inline-end: .5em; vertical-align: middle }
  [part="status"]:empty { display: none }`;

const connecting: Record<Connection, string> = {
  ws: "", sse: "", polling: "", disconnected: "Connecting …",
};

/** A server that renders pages has no elements, but may import this file. */
const Base = (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ??
  (class {} as unknown as typeof HTMLElement);

/**
 * ScoreboardTop is the element <scoreboard-top board="global" limit="10">, which shows a board live
 * after its client was set. Its parts table, row and status can be styled. What users chose, such as
 * their names, is only ever shown as text.
 */
export class ScoreboardTop extends Base {
  static readonly observedAttributes = ["board", "limit"];

  readonly #table = document.createElement("table");
  readonly #status = document.createElement("p");
  #client?: Scoreboard;
  #stop?: () => void;

  constructor() {
    super();
    const style = document.createElement("style");
    style.textContent = STYLE;
    this.#table.setAttribute("part", "table");
    this.#status.setAttribute("part", "status");
    this.#status.setAttribute("role", "status");
    this.attachShadow({ mode: "open" }).append(style, this.#table, this.#status);
  }

  /** The client that reads the board. */
  get client(): Scoreboard | undefined {
    return this.#client;
  }

  set client(client: Scoreboard | undefined) {
    this.#client = client;
    this.#restart();
  }

  connectedCallback(): void {
    this.#restart();
  }

  disconnectedCallback(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  attributeChangedCallback(): void {
    this.#restart();
  }

  #restart(): void {
    this.#stop?.();
    this.#stop = undefined;
    if (!this.isConnected || !this.#client) return;
    const query: WatchOptions = {
      board: this.getAttribute("board") ?? undefined, limit: this.getAttribute("limit") === "100" ? 100 : 10,
    };
    this.#table.replaceChildren();
    this.#stop = follow(this.#client, query, (live) => this.#show(live));
  }

  #show({ state, error }: LiveBoard): void {
    if (state) {
      this.#table.replaceChildren(...state.top.map(row));
      this.#status.textContent = state.degraded ? "These ranks may be out of date." : connecting[state.connection];
    }
    if (error !== undefined) {
      this.#status.textContent = error instanceof ScoreboardError ? `${error.message} ${error.nextStep}` : String(error);
    }
  }
}

function row({ rank, userId, score, subscore, displayName, avatarUrl }: Entry): HTMLTableRowElement {
  const cells = [String(rank), displayName ?? userId, score.toLocaleString()].map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  });
  if (subscore !== undefined) {
    const second = document.createElement("small");
    second.textContent = subscore.toLocaleString();
    cells[2]?.append(" ", second);
  }
  if (avatarUrl?.startsWith("https://")) {
    const image = document.createElement("img");
    image.alt = "";
    image.loading = "lazy";
    image.referrerPolicy = "no-referrer";
    image.src = avatarUrl;
    cells[1]?.prepend(image);
  }
  const tr = document.createElement("tr");
  tr.setAttribute("part", "row");
  tr.append(...cells);
  return tr;
}

/** defineElement registers <scoreboard-top>, or the class under another name. Without a page it does nothing. */
export function defineElement(name = "scoreboard-top"): void {
  if (!globalThis.customElements) return;
  if (!customElements.get(name)) customElements.define(name, ScoreboardTop);
}
