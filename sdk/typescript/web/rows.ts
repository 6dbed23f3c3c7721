import type { Entry } from "../src/types.js";

/** The number of colours of badges, as in server/http/pages. */
const HUES = 8;
/** How long a change of rank is shown, in milliseconds. */
const MOVE_SHOWN = 6_000;
const MOVE_TIME = 300;

const numbers = new Intl.NumberFormat();

/** count formats an integer for the viewer. */
export function count(n: number): string {
  return numbers.format(n);
}

/** make creates an element. Text that users chose only ever becomes text. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K, className = "", text = "",
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

/** hue is the colour of a user's badge. */
export function hue(user: string): number {
  let h = 0;
  for (let i = 0; i < user.length; i++) h = (h * 31 + user.charCodeAt(i)) % 9973;
  return h % HUES;
}

/** Row is a row of a table, with the parts that change. */
class Row {
  readonly tr: HTMLTableRowElement;
  #shown?: Entry;
  #tied = false;
  #places = 0; // gained, as shown
  #timer?: ReturnType<typeof setTimeout>;
  readonly #rank: Element;
  readonly #who: Element;
  readonly #move: Element;
  readonly #score: Element;

  constructor(tr?: HTMLTableRowElement) {
    if (!tr) {
      tr = make("tr");
      const rank = make("th", "rank");
      rank.scope = "row";
      tr.append(rank, make("td", "who"), make("td", "move"), make("td", "score"));
    }
    this.tr = tr;
    [this.#rank, this.#who, this.#move, this.#score] = [...tr.children] as [Element, Element, Element, Element];
  }

  /** show changes what differs, and returns whether the score did. */
  show(entry: Entry, tied: boolean, own: boolean): boolean {
    const { tr } = this;
    const before = this.#shown;
    const { rank, userId, score, subscore, displayName } = entry;
    this.#shown = entry;
    if (tr.classList.contains("own") !== own) {
      tr.classList.toggle("own", own);
      if (own) tr.ariaCurrent = "true";
      else tr.removeAttribute("aria-current");
    }
    if (before?.rank !== rank) {
      this.#rank.textContent = count(rank);
      this.#rank.setAttribute("data-rank", String(rank));
    }
    if (!before || before.displayName !== displayName) this.#showName(userId, displayName);
    if (before?.score !== score || before.subscore !== subscore || this.#tied !== tied) {
      this.#showScore(score, subscore, tied);
    }
    this.#tied = tied;
    return before !== undefined && before.score !== score;
  }

  /** moved shows how many places a row gained or lost, all together while the mark is shown. */
  moved(places: number): void {
    places += this.#places;
    this.#places = places;
    clearTimeout(this.#timer);
    if (places === 0) return this.#move.replaceChildren();
    const arrow = make("span", "", places > 0 ? "▲" : "▼");
    arrow.ariaHidden = "true";
    this.#move.className = places > 0 ? "move up" : "move down";
    this.#move.replaceChildren(arrow, make("span", "quiet", places > 0 ? "up " : "down "), count(Math.abs(places)));
    this.#timer = setTimeout(() => {
      this.#places = 0;
      this.#move.replaceChildren();
    }, MOVE_SHOWN);
  }

  #showName(userId: string, displayName: string | undefined): void {
    const name = displayName || userId;
    const badge = make("span", `badge hue${hue(userId)}`, String.fromCodePoint(name.codePointAt(0) ?? 0x20));
    badge.ariaHidden = "true";
    const shown = make("bdi", "name", name);
    shown.dir = "auto";
    this.tr.dataset["user"] = userId;
    this.#who.replaceChildren(badge, shown);
    if (name !== userId) this.#who.append(" ", make("bdi", "id", userId));
  }

  #showScore(score: number, subscore: number | undefined, tied: boolean): void {
    const data = make("data", "", count(score));
    data.value = String(score);
    this.#score.replaceChildren(data);
    if (subscore !== undefined) {
      const second = make("data", "sub", count(subscore));
      second.value = String(subscore);
      second.prepend(make("span", "quiet", "subscore "));
      this.#score.append(" ", second);
    }
    if (!tied) return;
    const mark = make("span", "tie");
    const sign = make("span", "", "=");
    mark.title = "Tied: the player who reached the score first is ahead";
    sign.ariaHidden = "true";
    mark.append(sign, make("span", "quiet", " tied "));
    this.#score.prepend(mark);
  }
}

/**
 * Rows keeps the rows of a table. Rows that change places move there, unless motion is reduced. What
 * is to be shown while rows move waits until they have arrived, and only the latest of it is shown.
 */
export class Rows {
  readonly #rows = new Map<string, Row>();
  readonly #ranks = new Map<string, number>();
  #moving: Animation[] = [];
  #waiting?: { entries: readonly Entry[]; own: string };
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  /** It is called with the rows that the table shows, as soon as it shows them. */
  shown: (entries: readonly Entry[]) => void = () => {};

  /** The table may have rows already, from the server. What is below it moves with its end. */
  constructor(readonly body: HTMLTableSectionElement, readonly below: readonly HTMLElement[] = []) {
    for (const tr of body.rows) {
      const user = tr.dataset["user"] ?? "";
      this.#rows.set(user, new Row(tr));
      this.#ranks.set(user, Number(tr.firstElementChild?.getAttribute("data-rank")));
    }
  }

  /** show replaces the rows, best first. */
  show(entries: readonly Entry[], own = ""): void {
    const waiting = this.#waiting;
    this.#waiting = { entries, own };
    if (waiting) return;
    // A move takes as long as the browser needs for its frames: a timer would cut it short. The end of
    // a move has a frame of its own: together with the next one it would count as a jump.
    void Promise.allSettled(this.#moving.map((a) => a.finished)).then(nextFrame).then(nextFrame).then(() => {
      const latest = this.#waiting!;
      this.#waiting = undefined;
      this.#moving = [];
      this.#render(latest.entries, latest.own);
    });
  }

  #render(entries: readonly Entry[], own: string): void {
    const { body } = this;
    const moves = !this.#still.matches && document.visibilityState === "visible" && body.rows.length > 0;
    const places = new Map<string, number>();
    if (moves) [...body.rows].forEach((tr, i) => places.set(tr.dataset["user"] ?? "", i));
    const resized = moves && body.rows.length !== entries.length;
    const { top, height } = moves ? body.rows[0]!.getBoundingClientRect() : { top: 0, height: 0 };
    const tops = resized ? this.below.map((e) => e.getBoundingClientRect().top) : [];
    // Only rows that can be seen move: those from the first to the last place within the window.
    const seen = (place: number): boolean => {
      const y = top + place * height;
      return y > -height && y < innerHeight;
    };
    const known = new Set(entries.map((e) => e.userId));
    for (const [user, row] of this.#rows) {
      if (known.has(user)) continue;
      row.tr.remove();
      this.#rows.delete(user);
      this.#ranks.delete(user);
    }
    entries.forEach((entry, i) => {
      const { userId, rank } = entry;
      const row = this.#rows.get(userId) ?? new Row();
      const tied = isTied(entries[i - 1], entry) || isTied(entries[i + 1], entry);
      const changed = row.show(entry, tied, userId === own);
      if (body.rows[i] !== row.tr) body.insertBefore(row.tr, body.rows[i] ?? null);
      const before = this.#ranks.get(userId);
      if (before !== undefined && before !== rank) row.moved(before - rank);
      this.#rows.set(userId, row);
      this.#ranks.set(userId, rank);
      const place = places.get(userId);
      if (!moves || !seen(i) && !seen(place ?? i)) return;
      if (place === undefined) this.#moving.push(...slide(row.tr, height, true));
      else if (place !== i) this.#moving.push(...slide(row.tr, (place - i) * height, false));
      if (changed) pulse(row.tr.querySelector("data")!);
    });
    tops.forEach((before, i) => {
      const element = this.below[i]!;
      const moved = before - element.getBoundingClientRect().top;
      if (moved) this.#moving.push(...slide(element, moved, false));
    });
    this.shown(entries);
  }
}

/** isTied says whether two rows have the same score, and the same subscore on a board that has them. */
function isTied(a: Entry | undefined, b: Entry): boolean {
  return a?.score === b.score && a.subscore === b.subscore;
}

function nextFrame(): Promise<unknown> {
  return new Promise(requestAnimationFrame);
}

/** slide lets an element start where it was, and move to where it is. */
export function slide(element: HTMLElement, from: number, enters: boolean): Animation[] {
  const options: KeyframeAnimationOptions = { duration: MOVE_TIME, easing: "cubic-bezier(.2, 0, 0, 1)" };
  const move = element.animate([{ transform: `translateY(${from}px)` }, { transform: "translateY(0)" }], options);
  if (enters) return [move, element.animate([{ opacity: 0 }, { opacity: 1 }], options)];
  if (from <= 0) return [move];
  // What rises passes above the others.
  return [move, element.animate([{ zIndex: 1 }, { zIndex: 1 }], options)];
}

/** pulse marks a changed score: the number alone, because the cell has the border of the row. */
function pulse(score: Element): void {
  score.animate([{ transform: "scale(1.08)" }, { transform: "none" }], { duration: MOVE_TIME, easing: "ease-out" });
}
