// Submit, read and watch with the client as it was built, in any runtime: node, deno run -A or
// bun, with the SBCTL_ variables of a server. Prints how the watch was connected.
import { newEventId, Scoreboard } from "../dist/index.js";

const sb = new Scoreboard();
const increment = { userId: `try-${newEventId()}`, delta: 5, eventId: newEventId() };
const first = await sb.submit(increment);
const again = await sb.submit(increment);
const [batch] = await sb.submitBatch([{ userId: increment.userId, delta: 2 }]);
const wrong = await sb.score("nobody").catch((error) => error);
let seen;
for await (const state of sb.watch({ limit: 100 }, { signal: AbortSignal.timeout(20_000) })) {
  seen = state;
  if (state.top.some((e) => e.userId === increment.userId && e.score === 7)) break;
}
const got = JSON.stringify([
  first.newScore, first.replayed, again.newScore, again.replayed, batch.receipt.newScore, wrong.code,
  seen.top.find((e) => e.userId === increment.userId)?.score,
]);
const want = JSON.stringify([5, false, 5, true, 7, "not_found", 7]);
if (got !== want) throw new Error(`got ${got}, want ${want}`);
console.log(seen.connection);
