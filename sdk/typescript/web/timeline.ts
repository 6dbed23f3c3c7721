// Plays back the past of a board on its page. The page loads this script when the viewer asks for it.
import type { Timeline, Top } from "../src/types.js";
import type { Transport } from "../src/transport.js";
import { count, make } from "./rows.js";

/** What the page lets a timeline use. */
export interface Stage {
  transport: Transport;
  path: string;
  limit: number;
  show: (rows: Top["entries"], total: number) => void;
  announce: (text: string) => void;
  /** The text of a time, in the zone that the viewer chose. */
  timeText: (at: number) => string;
  /** The timeline has ended: the page shows the present again. */
  closed: () => void;
}

type Frame = Timeline["frames"][number];

/** The time in which a timeline plays at speed 1, in milliseconds, and the time between two looks at it. */
const LENGTH = 60_000, TICK = 250;
/** How often a part that could not be loaded is tried again, and how long it waits at least, in milliseconds. */
const TRIES = 5, WAIT = 1_000;

const speeds = [0.25, 0.5, 1, 2, 4, 8];

const parse = (time: string): number => Date.parse(time);
const sleep = (time: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, time));

/** open shows the controls in a box, loads the timeline and plays it. It returns a function that closes it. */
export function open(box: HTMLElement, stage: Stage): () => void {
  const frames: Frame[] = [];
  let start = 0, end = 0, known = 0, at = 0;
  let speed = 1, playing = false, closed = false, shown = -1;
  let last = performance.now();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const button = (id: string, text: string, click: () => void): HTMLButtonElement => {
    const b = make("button", "", text);
    b.id = id;
    b.type = "button";
    b.addEventListener("click", click);
    return b;
  };
  const play = button("timeline-play", "Play", () => {
    if (!playing && at >= end) seek(start);
    setPlaying(!playing);
  });
  const time = make("time", "moment", "Loading…");
  const range = make("input");
  range.id = "timeline-at";
  range.type = "range";
  range.ariaLabel = "Moment";
  range.min = "0";
  range.max = range.value = "0";
  range.disabled = play.disabled = true;
  range.addEventListener("input", () => {
    setPlaying(false);
    seek(start + Number(range.value) * 1000);
  });
  range.addEventListener("change", () => stage.announce(leader())); // the range itself says the moment
  const select = make("select");
  select.id = "timeline-speed";
  select.ariaLabel = "Speed";
  for (const s of speeds) {
    const option = make("option", "", `${s}×`);
    option.value = String(s);
    option.selected = s === 1;
    select.append(option);
  }
  select.addEventListener("change", () => (speed = Number(select.value)));
  const problem = make("p", "problem");
  problem.setAttribute("role", "alert");
  box.replaceChildren(play, time, range, select, button("timeline-close", "Close", close), problem);

  function setPlaying(on: boolean): void {
    playing = on;
    last = performance.now();
    play.textContent = on ? "Pause" : "Play";
    if (!on && frames.length > 0) stage.announce(`${stage.timeText(at)}. ${leader()}`);
  }

  /** leader says in a sentence who is first. */
  function leader(): string {
    const first = frames[shown]?.entries[0];
    return first ? `${first.displayName || first.userId} leads with ${count(first.score)} points.` : "No scores yet.";
  }

  function seek(to: number): void {
    at = Math.min(Math.max(to, start), known);
    draw();
  }

  /** draw shows the frame of the moment. */
  function draw(): void {
    let low = 0, high = frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (parse(frames[middle]!.at) <= at) low = middle + 1;
      else high = middle;
    }
    const text = stage.timeText(at);
    if (time.textContent !== text) {
      time.textContent = text;
      time.dateTime = new Date(at).toISOString();
    }
    if (document.activeElement !== range || playing) range.value = String(Math.round((at - start) / 1000));
    range.setAttribute("aria-valuetext", text);
    if (low - 1 === shown || low === 0) return;
    shown = low - 1;
    const { entries, total } = frames[shown]!;
    stage.show(entries, total);
  }

  /** load reads the timeline, part by part. */
  async function load(): Promise<void> {
    let query: Record<string, string | number | undefined> = { limit: stage.limit };
    let path = stage.path;
    for (let tries = 0; !closed;) {
      try {
        const part = await stage.transport.try<Timeline>({ method: "GET", path: `${path}/timeline`, query });
        if (closed) return;
        tries = 0;
        frames.push(...part.frames);
        if (end === 0) begin(part);
        known = part.nextFrom ? parse(part.nextFrom) - 1 : end;
        if (!part.nextFrom) return;
        // The family may mean the next period where the next part begins.
        path = stage.path.replace(/[^/]+$/, encodeURIComponent(part.board));
        query = { limit: stage.limit, from: part.nextFrom, to: part.endsAt, step: `${part.stepMs}ms` };
      } catch (error) {
        const { retryAfter, message } = error as { retryAfter?: number; message: string };
        if (retryAfter && ++tries <= TRIES) {
          await sleep(Math.max(WAIT, retryAfter));
          continue;
        }
        problem.textContent = `The playback cannot be loaded: ${message}.`;
        return;
      }
    }
  }

  function begin(part: Timeline): void {
    start = at = parse(part.startsAt);
    end = parse(part.endsAt);
    known = start;
    range.max = String(Math.max(1, Math.round((end - start) / 1000)));
    range.step = String(Math.max(1, Math.round((end - start) / 250_000)));
    range.disabled = play.disabled = false;
    setPlaying(!still);
    play.focus();
    draw();
  }

  const tick = setInterval(() => {
    const now = performance.now(), elapsed = now - last;
    last = now;
    if (!playing || document.visibilityState !== "visible") return;
    at = Math.min(at + Math.max(1, (elapsed * speed * (end - start)) / LENGTH), known);
    draw();
    if (at >= end) setPlaying(false);
  }, TICK);

  const turned = (): void => {
    if (end > 0) draw();
  };
  addEventListener("clockchange", turned);

  function close(): void {
    if (closed) return;
    closed = true;
    clearInterval(tick);
    removeEventListener("clockchange", turned);
    box.hidden = true;
    box.replaceChildren();
    stage.closed();
  }

  void load();
  return close;
}
