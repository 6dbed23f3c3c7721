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

/** attributesOf is the attributes in the order of their names; undefined without any. */
export function attributesOf({ attributes = {} }: Increment): Record<string, string> | undefined {
  const sorted = Object.entries(attributes).sort();
  return sorted.length > 0 ? Object.fromEntries(sorted) : undefined;
}

/** requestOf is an increment as the API takes it, with the current time and unsigned. */
export function requestOf(i: Increment & { eventId: string }, boards?: string[]): IncrementRequest {
  return {
    user_id: i.userId, delta: i.delta, event_id: i.eventId,
    timestamp: new Date().toISOString().replace(/\.\d+/, ""),
    board: i.board || undefined, boards, action: i.action || undefined,
    action_token: i.actionToken || undefined, attestation: i.attestation || undefined,
    attributes: attributesOf(i), if_period: i.ifPeriod || undefined,
    metadata: i.metadata, subscore: i.subscore,
  };
}

/** signedInHeaders says whether it has what the signature of the body does not cover. */
export function signedInHeaders(i: Increment): boolean {
  return attributesOf(i) !== undefined || Boolean(i.ifPeriod) || i.metadata !== undefined || i.subscore !== undefined;
}

/**
 * signed adds the signature of the body, if there is a key. That does not cover attributes,
 * if_period, metadata and subscore: with them, the headers are signed.
 */
export async function signed(r: IncrementRequest, { keyId, keySecret }: Settings): Promise<IncrementRequest> {
  const covered = !r.attributes && !r.if_period && !r.metadata && r.subscore === undefined;
  return keyId && covered ? { ...r, key_id: keyId, signature: await sign(keySecret, fieldText(r)) } : r;
}
