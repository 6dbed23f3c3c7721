import rowsStyle from "../../../server/http/pages/assets/rows.css";
import elementStyle from "./element.css";
import tokens from "./tokens.css";

import type { State } from "../src/watch/state.js";
import { ageOf, serverOf, Source, warningOf } from "./live.js";
import { make, Rows } from "./rows.js";

const server = serverOf(import.meta.url);
const style = new CSSStyleSheet();
style.replaceSync(tokens + rowsStyle + elementStyle);

/**
 * ScoreBoard is the element <score-board board="global" limit="10" player="ada" data-theme="dark">: a
 * board of the server that this script came from, live. It reads nothing of the page around it
 * but its attributes, and listens to no messages.
 */
class ScoreBoard extends HTMLElement {
  static readonly observedAttributes = ["board", "limit", "player"];

  readonly #table = make("table", "rows");
  readonly #status = make("p", "status");
  #rows?: Rows;
  #stop?: () => void;
  #state?: State;
  #timer?: ReturnType<typeof setInterval>;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style];
    this.#table.setAttribute("part", "table");
    this.#status.setAttribute("part", "status");
    root.append(this.#table, this.#status);
  }

  connectedCallback(): void {
    this.#restart();
  }

  disconnectedCallback(): void {
    this.#end();
  }

  attributeChangedCallback(): void {
    this.#restart();
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
    clearInterval(this.#timer);
  }

  #restart(): void {
    this.#end();
    if (!this.isConnected) return;
    const limit = this.getAttribute("limit") === "100" ? 100 : 10;
    const board = this.getAttribute("board") || "global";
    const caption = make("caption", "quiet", `Top ${limit} of ${board}`);
    const head = make("thead");
    const titles = make("tr");
    for (const [name, title] of [["rank", "Rank"], ["who", "Player"], ["move", ""], ["score", "Score"]]) {
      const th = make("th", name, title);
      th.scope = "col";
      if (!title) th.append(make("span", "quiet", "Change"));
      titles.append(th);
    }
    head.append(titles);
    const body = make("tbody");
    this.#table.replaceChildren(caption, head, body);
    this.#rows = new Rows(body);
    this.#state = undefined;
    this.#status.textContent = "Connecting …";
    const source = new Source(server, { board, limit });
    this.#stop = source.follow((state) => this.#show(state), (error) => {
      this.#end();
      this.#status.textContent = error instanceof Error ? error.message : String(error);
    });
    this.#timer = setInterval(() => this.#showAge(), 1000);
  }

  #show(state: State): void {
    this.#state = state;
    if (state.heardAt) this.#rows?.show(state.top, this.getAttribute("player") ?? "");
    this.#showAge();
  }

  #showAge(): void {
    const state = this.#state;
    if (!state) return;
    const text = warningOf(state.degraded) || (state.connection === "disconnected" ? this.#lost(state) : "");
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  /** A script cannot tell a server that is away from one that does not list the page's origin. */
  #lost(state: State): string {
    if (state.heardAt) return `Reconnecting … ${ageOf(state.heardAt, state.connection)}`;
    return `No connection to ${new URL(server).host}: it is unavailable, or its setting web.origins does not list ` +
      location.origin;
  }
}

if (!customElements.get("score-board")) customElements.define("score-board", ScoreBoard);
