// The script of a board's page and of its page for iframes. The page is complete without it; it
// keeps the rows current, and adds what needs a script.
import type { Entry, Place, RankHistory, Statement } from "../src/types.js";
import { segment } from "../src/transport.js";
import type { Connection, State } from "../src/watch/state.js";
import { timeText, turnClock, zoneName } from "./clock.js";
import { ageOf, type Query, serverOf, Source, warningOf } from "./live.js";
import { count, make, Rows, slide } from "./rows.js";

const $ = <T extends HTMLElement>(id: string): T | null => document.getElementById(id) as T | null;

const main = $("board")!;
const query: Query = {
  board: main.dataset["board"] ?? "", limit: main.dataset["limit"] === "100" ? 100 : 10,
};
const ended = "ended" in main.dataset;
const server = serverOf(import.meta.url);

const labels: Record<Connection, string> = {
  ws: "Live", sse: "Live", polling: "Polling", disconnected: "Reconnecting",
};

/** How often a player's standing is read while the board changes, in milliseconds. */
const PLAYER_EVERY = 5_000;
/** How often the number of players is read, in milliseconds. */
const TOTAL_EVERY = 30_000;
/** The shortest time between two announcements, in milliseconds. */
const ANNOUNCE_EVERY = 10_000;
/** The maximum of events that a statement shows. */
const MAX_EVENTS = 1_000;

const below = [$("player"), document.querySelector<HTMLElement>(".foot")].filter((e) => e !== null);
const rows = new Rows($<HTMLTableElement>("rows")!.tBodies[0]!, below);
const near = $<HTMLTableElement>("near");
const nearRows = near && new Rows(near.tBodies[0]!);

let source = new Source(server, query);
let signedIn = false;
let player = main.dataset["player"] ?? "";
let place: Place | undefined;
let state: State | undefined;
let stop = (): void => {};
let closeTimeline: (() => void) | undefined;

// Numbers that the server wrote, as the viewer's language writes them.
for (const data of document.querySelectorAll("data")) data.textContent = count(Number(data.value));

// ---- what is shown of a state

function set(element: Element | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

/** renew replaces an element by a copy. Another width would move what stands in it; another element moves nothing. */
function renew(element: HTMLElement): HTMLElement {
  const next = element.cloneNode(true) as HTMLElement;
  element.replaceWith(next);
  return next;
}

function showTotal(total: number): void {
  const text = count(total);
  if ($("total")?.textContent === text) return;
  const facts = document.querySelector<HTMLElement>(".facts");
  if (facts) set(renew(facts).querySelector("#total"), text);
}

/** left writes a time in the largest units that matter. */
function left(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "in less than a minute";
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `in ${hours} h ${minutes % 60} min` : `in ${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** showEnd counts down to the end of the period. */
function showEnd(): void {
  const shown = $<HTMLTimeElement>("ends");
  const facts = document.querySelector<HTMLElement>(".facts");
  if (!shown || !facts) return;
  const ends = new Date(shown.dateTime);
  const text = ends.getTime() > Date.now() ? left(ends.getTime() - Date.now()) : "now";
  if (shown.textContent === text) return;
  const time = renew(facts).querySelector<HTMLTimeElement>("#ends");
  set(time, text);
  if (time) time.title = timeText(ends);
}

function showStatus(): void {
  if (!state || closeTimeline) return;
  let status = $("status")!;
  const warning = warningOf(state.degraded);
  const kind = state.connection === "disconnected" ? "lost" : warning ? "warn" : state.connection;
  if (status.dataset["kind"] !== kind) {
    status = renew(status);
    status.dataset["kind"] = kind;
  }
  status.classList.toggle("warn", kind === "warn" || kind === "lost");
  set($("connection"), kind === "warn" ? "Delayed" : labels[state.connection]);
  set($("age"), state.heardAt ? ageOf(state.heardAt, state.connection) : "");
  const line = $("warning")!;
  const text = kind === "lost" ? "The connection is lost. These rows may be out of date." : warning;
  if (text) set(line, text);
  if (line.hidden !== (text === "")) line.hidden = text === "";
}

let leader = "";
let announcedAt = -ANNOUNCE_EVERY;

/** announce tells screen readers, when they have time. */
function announce(text: string): void {
  if (performance.now() - announcedAt < ANNOUNCE_EVERY) return;
  announcedAt = performance.now();
  say(text);
}

/** say tells screen readers what follows from what the viewer did. */
function say(text: string): void {
  $("announce")!.replaceChildren(make("span", "", text));
}

function showRows(now: State): void {
  const [first] = now.top;
  rows.show(now.top, player);
  const empty = $("empty")!;
  if (empty.hidden !== now.top.length > 0) empty.hidden = now.top.length > 0;
  if (first && leader && first.userId !== leader) {
    announce(`${first.displayName || first.userId} leads with ${count(first.score)} points.`);
  }
  leader = first?.userId ?? "";
  const [, period = ""] = now.board.split(":");
  if (period && $("period")?.textContent !== period) {
    set($("period"), period);
    document.querySelector(".ending")?.remove(); // it is that of the period before
    announce(`A new period has begun: ${period}.`);
  }
}

let painted = false;

/** paint shows the latest state before the next frame, however many have arrived. */
function paint(): void {
  if (painted) return;
  painted = true;
  requestAnimationFrame(() => {
    painted = false;
    if (!state?.heardAt) return showStatus();
    if (!closeTimeline) showRows(state);
    showStatus();
    if (state.me) showMove(state.me.rank);
    refreshPlayer();
  });
}

// ---- the player that the viewer looks for, or is

let readAt = -PLAYER_EVERY;
let waiting: ReturnType<typeof setTimeout> | undefined;
let readVersion = "";

/** refreshPlayer reads the player's standing if the board has changed, but not too often. */
function refreshPlayer(): void {
  if (!player || !nearRows || waiting || ended) return;
  const version = `${state?.epoch}:${state?.version}`;
  if (version === readVersion) return;
  const wait = Math.max(0, readAt + PLAYER_EVERY - performance.now());
  waiting = setTimeout(() => {
    waiting = undefined;
    readAt = performance.now();
    readVersion = version;
    void readPlayer();
  }, wait);
}

async function readPlayer(): Promise<void> {
  const of = player;
  if (!of) return;
  try {
    const read = signedIn
      ? await source.transport.try<Place>({
        method: "GET", path: "/v1/leaderboard/me", query: { board: query.board, k: 2 },
      })
      : await source.player(of);
    if (of === player) showPlayer(read);
  } catch (error) {
    if (of !== player) return;
    if ((error as { status?: number }).status === 404) showPlayer(undefined);
  }
}

function showMove(rank: number): void {
  if (rank && place && rank !== place.rank) announce(`You are now #${count(rank)}.`);
}

function subscoreOf(shown: HTMLDataElement | null): number | undefined {
  return shown ? Number(shown.value) : undefined;
}

/** The rows that the table shows, of the present. */
let top: readonly Entry[] = [...$<HTMLTableElement>("rows")!.tBodies[0]!.rows].map((tr) => ({
  userId: tr.dataset["user"] ?? "", rank: Number(tr.querySelector<HTMLElement>(".rank")?.dataset["rank"]),
  score: Number(tr.querySelector("data")?.value),
  subscore: subscoreOf(tr.querySelector<HTMLDataElement>(".sub")), displayName: tr.querySelector(".name")?.textContent ?? "",
}));
rows.shown = (entries) => {
  if (closeTimeline) return;
  top = entries;
  showPlace();
};

/** percentileOf is the share of players below a rank, as the server rounds it. */
function percentileOf(rank: number, total: number): number {
  return Math.floor(((total - rank) * 2000 + total) / (2 * total)) / 10;
}

/** showPlace shows the player's standing: where the table has a row of a player, as that row does. */
function showPlace(): void {
  const table = near;
  if (!place || !table) return;
  const own = top.find((e) => e.userId === player);
  const { rank, score, subscore } = own ?? place;
  const total = Math.max(place.total, rank);
  const percentile = own ? percentileOf(rank, total) : place.percentile;
  const neighbours = (place.neighbours ?? []).map((e) => top.find((row) => row.userId === e.userId) ?? e)
    .sort((a, b) => a.rank - b.rank);
  const bdi = make("bdi", "", neighbours.find((e) => e.userId === player)?.displayName || player);
  bdi.dir = "auto";
  const text = ` is #${count(rank)} of ${count(total)} with ${count(score)} points${
    subscore === undefined ? "" : ` and a subscore of ${count(subscore)}`}, ahead of ${percentile} %.`;
  if ($("place")!.textContent !== bdi.textContent + text) $("place")!.replaceChildren(bdi, text);
  nearRows!.show(neighbours, player);
  hideNear(neighbours.every((e) => top.includes(e)));
}

/** hideNear hides the neighbours, who are all in the table, or shows them. What is below moves there. */
function hideNear(hidden: boolean): void {
  const foot = document.querySelector<HTMLElement>(".foot");
  if (!near || !foot || near.hidden === hidden) return;
  const before = foot.getBoundingClientRect().top;
  near.hidden = hidden;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    slide(foot, before - foot.getBoundingClientRect().top, false);
  }
}

function showPlayer(read: Place | undefined): void {
  const section = $("player");
  if (!section || !near) return;
  place = read;
  if (read) {
    showPlace();
    showTotal(read.total);
  } else {
    const bdi = make("bdi", "", player);
    bdi.dir = "auto";
    $("place")!.replaceChildren("No score of ", bdi, " on this board.");
    nearRows!.show([]);
    hideNear(true);
  }
  $("chart")!.hidden = !read;
  if (read) void showChart();
  section.hidden = false;
  $("statement")!.hidden = !signedIn;
}

/** How long the chart of a player stays as it is, in milliseconds: it has a point an hour. */
const CHART_EVERY = 300_000;

let charted = "";
let chartedAt = -CHART_EVERY;

/** showChart draws the player's last day, once in a while. */
async function showChart(): Promise<void> {
  const box = $("chart");
  const of = player;
  if (!box || of === charted && performance.now() - chartedAt < CHART_EVERY) return;
  if (of !== charted) box.replaceChildren();
  charted = of;
  chartedAt = performance.now();
  try {
    const path = signedIn ? "/v1/users/me/history" : `${source.path}/players/${segment(of)}/history`;
    const query = signedIn ? { board: main.dataset["board"] } : {};
    const [{ draw }, history] = await Promise.all([
      import(new URL(box.dataset["script"]!, location.href).href) as Promise<typeof import("./chart.js")>,
      source.transport.try<Pick<RankHistory, "points">>({ method: "GET", path, query }).catch((error: unknown) => {
        if ((error as { status?: number }).status === 404) return { points: [] }; // no rank on any of the points
        throw error;
      }),
    ]);
    if (of === player) draw(box, history, ended ? undefined : place);
  } catch {
    if (of === player) box.replaceChildren(); // a board without a past is complete without it
  }
}

/** choose makes a player the one that the page is about. */
function choose(user: string): void {
  player = user;
  const url = new URL(location.href);
  if (user) url.searchParams.set("player", user);
  else url.searchParams.delete("player");
  history.replaceState(null, "", url);
  readVersion = "";
  if (state?.heardAt && !closeTimeline) rows.show(state.top, player);
  if (user) {
    void readPlayer();
  } else {
    place = undefined;
    $("player")!.hidden = true;
  }
}

// ---- the clock

/** showTimes writes the times of the page in the zone that the viewer chose. */
function showTimes(): void {
  const time = document.querySelector<HTMLTimeElement>("#status time[data-clock]");
  if (time) set(time, timeText(new Date(time.dateTime)));
  set($("clock"), `Times in ${zoneName()}`);
}

function enableClock(): void {
  const button = $("clock");
  if (button) button.hidden = false;
  button?.addEventListener("click", turnClock);
  addEventListener("clockchange", showTimes);
  if (document.querySelector("time[data-clock]")) renew($("status")!);
  showTimes();
  showEnd();
  setInterval(showEnd, 10_000);
}

// ---- the stream

function restart(): void {
  stop();
  if (ended) return;
  stop = source.follow((now) => {
    state = now;
    paint();
  }, (error) => {
    // Rejected for good, such as a token that has expired: the page stays as it is, and says so.
    const line = $("warning")!;
    set(line, `Updates have ended: ${error instanceof Error ? error.message : String(error)}. Reload the page.`);
    line.hidden = false;
    set($("connection"), "Ended");
    $("status")!.classList.add("warn");
    state = undefined;
  });
}

setInterval(showStatus, 1000);
setInterval(() => {
  if (ended || document.visibilityState !== "visible") return;
  source.top().then((top) => closeTimeline || showTotal(top.total), () => {});
}, TOTAL_EVERY);

// ---- signing in: the token stays in this script, and leaves it in headers only

async function signIn(token: string): Promise<void> {
  const next = new Source(server, query, token);
  const me = await next.transport.try<Place>({
    method: "GET", path: "/v1/leaderboard/me", query: { board: query.board, k: 2 },
  });
  source = next;
  signedIn = true;
  player = me.userId;
  if ($("signin")) $("signin")!.textContent = "Sign out";
  showPlayer(me);
  if (state?.heardAt && !closeTimeline) rows.show(state.top, player);
  restart();
}

function signOut(): void {
  source = new Source(server, query);
  signedIn = false;
  $("signin")!.textContent = "Sign in";
  choose("");
  restart();
}

function enableSignIn(): void {
  const button = $("signin");
  const dialog = $<HTMLDialogElement>("token");
  if (!button || !dialog) return;
  const text = $<HTMLTextAreaElement>("token-text")!;
  const problem = $("token-problem")!;
  button.hidden = ended;
  button.addEventListener("click", () => {
    if (signedIn) return signOut();
    problem.textContent = "";
    dialog.showModal();
  });
  dialog.addEventListener("close", () => (text.value = ""));
  dialog.querySelector("form")!.addEventListener("submit", (event) => {
    if ((event.submitter as HTMLButtonElement | null)?.value !== "ok") return;
    event.preventDefault();
    signIn(text.value.trim()).then(() => dialog.close(), (error: unknown) => {
      problem.textContent = (error as Error).message;
    });
  });
  // A game may open the page with #token=…: what follows # is not sent, and not kept.
  const [, given] = /^#token=([\w.~-]+)$/.exec(location.hash) ?? [];
  if (!given) return;
  history.replaceState(null, "", location.pathname + location.search);
  signIn(given).catch((error: unknown) => {
    problem.textContent = (error as Error).message;
    dialog.showModal();
  });
}

// ---- the statement of the viewer

function enableStatement(): void {
  const dialog = $<HTMLDialogElement>("events");
  const body = dialog?.querySelector("tbody");
  if (!dialog || !body) return;
  const more = $<HTMLButtonElement>("events-more")!;
  let cursor: string | undefined;
  const load = async (): Promise<void> => {
    try {
      const page = await source.transport.try<Statement>({
        method: "GET", path: `/v1/users/${segment(player)}/statement`, query: { board: query.board, cursor },
      });
      for (const e of page.entries) {
        const tr = make("tr");
        const delta = `${e.delta > 0 ? "+" : ""}${count(e.delta)}`;
        tr.append(
          make("td", "", timeText(new Date(e.recordedAt))), make("td", "event", e.action || e.kind || e.eventId),
          make("td", "score", delta), make("td", "score", count(e.newScore)),
        );
        body.append(tr);
      }
      cursor = page.nextCursor;
      more.hidden = !cursor || body.rows.length >= MAX_EVENTS;
    } catch (error) {
      $("events-problem")!.textContent = (error as Error).message;
    }
  };
  $("statement")!.addEventListener("click", () => {
    body.replaceChildren();
    cursor = undefined;
    $("events-problem")!.textContent = "";
    void load();
    dialog.showModal();
  });
  more.addEventListener("click", () => void load());
}

// ---- search, links, and the screen on a wall

function enableTools(): void {
  const find = $<HTMLInputElement>("find");
  if (!find) return;
  find.form!.addEventListener("submit", (event) => {
    event.preventDefault();
    if (ended) return find.form!.submit();
    choose(find.value.trim());
  });
  $("clear")!.addEventListener("click", (event) => {
    if (ended) return;
    event.preventDefault();
    find.value = "";
    choose("");
  });
  const share = $("share")!;
  share.addEventListener("click", () => {
    const url = new URL(location.href);
    url.searchParams.set("player", player);
    navigator.clipboard?.writeText(url.href).then(() => (share.textContent = "Copied"), () => {});
    setTimeout(() => (share.textContent = "Copy link"), 2000);
  });
  const root = document.documentElement;
  const kiosk = $("kiosk")!;
  kiosk.hidden = false;
  const enter = (): void => {
    root.dataset["kiosk"] = "";
    root.requestFullscreen?.().catch(() => {});
  };
  kiosk.addEventListener("click", enter);
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement) delete root.dataset["kiosk"];
  });
  document.addEventListener("keydown", (event) => {
    const typing = (event.target as Element).matches("input, textarea, dialog *");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      find.focus();
    } else if (event.key === "f") {
      enter();
    } else if (event.key === "Escape") {
      delete root.dataset["kiosk"];
    }
  });
}

// ---- the past

function enableTimeline(): void {
  const button = $("playback");
  const box = $("timeline");
  if (!button || !box) return;
  button.hidden = false;
  let opening = false;
  button.addEventListener("click", () => {
    if (closeTimeline) return closeTimeline();
    if (opening) return;
    opening = true;
    box.hidden = false; // at once: what moves a row later would surprise
    button.ariaExpanded = "true";
    import(new URL(box.dataset["script"]!, location.href).href).then(({ open }: typeof import("./timeline.js")) => {
      const status = $("status")!;
      const [kind, words] = [status.dataset["kind"], $("connection")?.textContent ?? ""];
      closeTimeline = open(box, {
        transport: source.transport, path: source.path, limit: query.limit, announce: say, timeText,
        show: (entries, total) => {
          rows.show(entries, player);
          $("empty")!.hidden = entries.length > 0;
          showTotal(total);
        },
        closed: () => {
          closeTimeline = undefined;
          button.ariaExpanded = "false";
          button.focus();
          status.dataset["kind"] = kind ?? "";
          set($("connection"), words);
          void showPresent();
        },
      });
      status.dataset["kind"] = "timeline";
      set($("connection"), "Playback");
      set($("age"), "");
    }).catch((error: unknown) => {
      box.hidden = true;
      button.ariaExpanded = "false";
      set($("warning"), `The playback cannot be loaded: ${(error as Error).message}.`);
      $("warning")!.hidden = false;
    }).finally(() => (opening = false));
  });
}

/** showPresent shows the rows as they are now, of an ended board as they stay. */
async function showPresent(): Promise<void> {
  if (state?.heardAt) {
    showRows(state);
    showStatus();
  }
  const top = await source.top().catch(() => undefined);
  if (!top || closeTimeline) return;
  if (ended) rows.show(top.entries, player);
  showTotal(top.total);
}

enableClock();
enableTools();
enableTimeline();
enableStatement();
enableSignIn();
if (ended && player) void showChart();
restart();
