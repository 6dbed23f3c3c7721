import { hex } from "./event_id.js";
import type { components } from "./openapi.js";

type IncrementRequest = components["schemas"]["IncrementRequest"];

const utf8 = new TextEncoder();

/** sign returns the HMAC-SHA256 of a text, in hex. The secret is used as it was shown. */
export async function sign(secret: string, text: string): Promise<string> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text))));
}

/** fieldText is what the signature in the body of an increment signs: not its attributes. */
export function fieldText(r: IncrementRequest): string {
  const parts = [r.user_id, r.delta, r.event_id, r.timestamp];
  const boards = r.board || r.boards?.join(",") || "";
  if (boards || r.action) parts.push(boards);
  if (r.action) parts.push(r.action);
  return parts.join("|");
}

/** headerText is what the signature in the headers of a request signs. The target is as sent. */
export async function headerText(
  method: string, target: string, keyId: string, timestamp: string, body: string,
): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(body));
  return [method, target, keyId, timestamp, hex(new Uint8Array(digest))].join("\n");
}
