import { newEventId } from "./event_id.js";
import type { components } from "./openapi.js";
import type { Settings } from "./options.js";
import { fieldText, sign } from "./sign.js";
import type { Increment } from "./types.js";

export type IncrementRequest = components["schemas"]["IncrementRequest"];

/** withEventId is the increment, with a new event id if it has none. */
export function withEventId(increment: Increment): Increment & { eventId: string } {
  return { ...increment, eventId: increment.eventId || newEventId() };
}

/** requestOf is an increment as the API takes it, with the current time and unsigned. */
export function requestOf(i: Increment & { eventId: string }, boards?: string[]): IncrementRequest {
  return {
    user_id: i.userId, delta: i.delta, event_id: i.eventId,
    timestamp: new Date().toISOString().replace(/\.\d+/, ""),
    board: i.board || undefined, boards, action: i.action || undefined,
    action_token: i.actionToken || undefined, attestation: i.attestation || undefined,
  };
}

/** signed adds the signature of the body, if there is a key. */
export async function signed(r: IncrementRequest, { keyId, keySecret }: Settings): Promise<IncrementRequest> {
  return keyId ? { ...r, key_id: keyId, signature: await sign(keySecret, fieldText(r)) } : r;
}
