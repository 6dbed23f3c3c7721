// Draws a player's score and rank over the last day on the page of a board. The page loads this script when it
// shows a player.
import type { RankHistory } from "../src/types.js";
import { count, make } from "./rows.js";

/** The size of a chart in its own units, with the space above and below the line. */
const WIDTH = 320, HEIGHT = 72, SPACE = 6;

const SVG = "http://www.w3.org/2000/svg";

interface Point {
  at: number;
  value: number;
}

/** draw replaces what is in a box by the charts of a history, with the standing now as its last point. */
export function draw(
  box: HTMLElement, history: Pick<RankHistory, "points">, now: { rank: number; score: number } | undefined,
): void {
  const ranks: Point[] = [], scores: Point[] = [];
  for (const { at, rank, score } of history.points) {
    if (rank === null || score === null) continue;
    ranks.push({ at: Date.parse(at), value: rank });
    scores.push({ at: Date.parse(at), value: score });
  }
  if (now) {
    ranks.push({ at: Date.now(), value: now.rank });
    scores.push({ at: Date.now(), value: now.score });
  }
  if (ranks.length < 2) {
    const [only] = ranks;
    box.replaceChildren(make("p", "dim", only
      ? `#${count(only.value)} now. A chart appears with the next rank: one is kept each hour.`
      : "No ranks in the last day."));
    return;
  }
  const first = Math.min(...history.points.map((p) => Date.parse(p.at)));
  box.replaceChildren(
    figure("Rank", ranks, first, true, (n) => `#${count(n)}`), figure("Score", scores, first, false, count),
  );
}

/** figure is a line with its words, which screen readers read instead of it. */
function figure(
  name: string, points: readonly Point[], from: number, lowest: boolean, words: (n: number) => string,
): HTMLElement {
  const values = points.map((p) => p.value);
  const low = Math.min(...values), high = Math.max(...values);
  const start = words(values[0]!), end = words(values.at(-1)!);
  const best = words(lowest ? low : high);
  const text = `${name} over the last day: from ${start} to ${end}, best ${best}.`;
  const to = points.at(-1)!.at;
  const x = (p: Point): number => (to > from ? ((p.at - from) / (to - from)) * WIDTH : 0);
  const y = (p: Point): number => {
    const share = high > low ? (p.value - low) / (high - low) : 0.5;
    return SPACE + (lowest ? share : 1 - share) * (HEIGHT - 2 * SPACE);
  };
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", text);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.map((p) => `${x(p).toFixed(1)},${y(p).toFixed(1)}`).join(" "));
  line.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(line);
  const caption = make("figcaption");
  const change = make("span", "dim", `${start} → ${end} · best ${best}`);
  change.ariaHidden = "true"; // the picture says it
  caption.append(`${name}, last day `, change);
  const element = make("figure");
  element.append(caption, svg);
  return element;
}
