// Both signature schemes of scoreboard, with WebCrypto. Do not sign in a web page:
// everyone who opens it could read the secret.
const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18

const SECRET = "sk_test_0123456789abcdef"; // as it was shown; this one is only for tests

const utf8 = new TextEncoder();
const hex = (buffer) => [...new Uint8Array(buffer)].map((b) => b.toString(16).padStart(2, "0")).join("");

async function sign(text) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", utf8.encode(SECRET), algorithm, false, ["sign"]);
  return hex(await subtle.sign("HMAC", key, utf8.encode(text)));
}

// The value of "signature" in the body.
export function signFields({ user_id, delta, event_id, timestamp, boards = [], action = "" }) {
  let text = `${user_id}|${delta}|${event_id}|${timestamp}`;
  if (boards.length > 0 || action) text += "|" + boards.join(",");
  if (action) text += "|" + action;
  return sign(text);
}

// The value of X-Scoreboard-Signature. The body is a string, sent as UTF-8.
export async function signHeaders(method, target, keyId, seconds, body) {
  const digest = hex(await subtle.digest("SHA-256", utf8.encode(body)));
  return "v1=" + (await sign([method, target, keyId, seconds, digest].join("\n")));
}

// the test vectors, in their order
const round = {
  user_id: "alice", delta: 5,
  event_id: "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", timestamp: "2026-11-21T12:00:00Z",
};
console.log(await signFields(round));
console.log(await signFields({ ...round, boards: ["global", "daily"] }));
console.log(await signFields({ ...round, boards: ["weekly"] }));
console.log(await signFields({ ...round, action: "kill" }));
console.log(await signFields({ ...round, boards: ["weekly"], action: "kill" }));
console.log(await signFields({
  user_id: "eu:bob@example.com", delta: -3,
  event_id: "match-8841:round.2", timestamp: "2026-11-21T13:00:00.250+01:00",
}));
console.log(await signHeaders("POST", "/v1/scores/increments", "k1", 1795262400, '{"items":[]}'));
console.log(await signHeaders("POST", "/v1/scores/increment", "k1", 1795262400,
  '{"user_id":"alice","delta":5,"event_id":"match-8841","timestamp":"2026-11-21T12:00:00Z"}'));
console.log(await signHeaders("PUT", "/v1/users/alice/profile?reason=new%20name", "k1", 1795262400,
  '{"display_name":"Zoë"}'));
console.log(await signHeaders("GET", "/v1/events/match-8841?user_id=alice", "k1", 1795262400, ""));
