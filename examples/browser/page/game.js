import { renewing, Scoreboard, ScoreboardError } from "@scoreboard/client";
import { defineElement } from "@scoreboard/client/element";
import { IndexedDBStore, OfflineQueue } from "@scoreboard/client/queue";

const show = (id, text) => (document.getElementById(id).textContent = text);

// call sends a request to the game's backend, and makes its errors those of the SDK.
async function call(path, options) {
  const response = await fetch(path, options);
  const body = await response.json();
  if (response.ok) return body;
  throw new ScoreboardError({
    code: body.error_code, message: body.message, status: response.status,
    retryAfter: 1000 * Number(response.headers.get("Retry-After")),
  });
}

const { player, server } = await call("/session", { method: "POST" });
show("player", player);

// The board, with the player's own token.
defineElement();
const token = renewing((signal) => call("/token", { signal }));
document.querySelector("scoreboard-top").client = new Scoreboard({ server, token });

// Hits are kept in the browser until the backend has counted them, also over a reload.
const queue = new OfflineQueue({
  store: await IndexedDBStore.open(),
  sender: {
    submit: ({ eventId }, { signal }) => call("/hits", {
      method: "POST", signal,
      headers: { "Content-Type": "application/json" }, body: JSON.stringify({ event_id: eventId }),
    }),
  },
  onSent: () => refresh(),
  onRejected: (_, error) => show("waiting", error.message),
});
const refresh = async () => show("waiting", await queue.size());

const target = document.getElementById("target");
target.addEventListener("click", async () => {
  target.style.left = `${Math.random() * 80}%`;
  target.style.top = `${Math.random() * 80}%`;
  await queue.add({ userId: player, delta: 1 });
  await refresh();
});

await refresh();
await queue.run(new AbortController().signal);
