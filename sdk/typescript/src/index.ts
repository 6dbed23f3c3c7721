/**
 * The client of scoreboard: it submits signed score increments, reads leaderboards and follows
 * one live.
 *
 * @packageDocumentation
 */
export { MAX_BATCH, Scoreboard } from "./client.js";
export { type Code, type ErrorFields, ScoreboardError } from "./error.js";
export { newEventId } from "./event_id.js";
export type { Options } from "./options.js";
export { fieldText, headerText, sign } from "./sign.js";
export { renewing, type TokenSource } from "./token.js";
export type * from "./types.js";
export type { Connection, Move, State, TierMove, WatchOptions } from "./watch/state.js";
export type { Socket, WebSocketClass } from "./watch/ws.js";
