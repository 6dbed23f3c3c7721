import type { components } from "./openapi.js";

/** Code is an error code of the API. Later servers may send others. */
export type Code = components["schemas"]["Error"]["error_code"] | (string & {});

/** ErrorFields is what is known of a failure. */
export interface ErrorFields {
  code: Code;
  message: string;
  status?: number;
  field?: string;
  reason?: string;
  eventId?: string;
  requestId?: string;
  retryAfter?: number;
  wouldRank?: number;
  nextReset?: string;
  cause?: unknown;
}

const UNDESCRIBED = "Send a request that /openapi.json describes.";

// The same in every client: sdk/conformance/errors.json has them.
const nextSteps: Record<string, string> = {
  invalid_request: "Correct the request; sent again unchanged, it fails again.",
  unauthorized: "Get a new token.",
  invalid_signature: "Check the clock, the key id and the secret.",
  forbidden: "Use the user's own token, or one with a wider scope.",
  not_found: "Check the id and the name of the board.",
  method_not_allowed: UNDESCRIBED,
  unsupported_media_type: UNDESCRIBED,
  event_conflict: "Use a new event id; this one belongs to another increment.",
  board_closed: "Write to an open board; this one accepts no more scores.",
  token_used: "Get a new token; this one was used.",
  attempts_used: "Wait for the next period; all attempts of this one are used.",
  period_ended: "Read the board; the increment was for a period that is not the current one.",
  not_joined: "Join the period first; the board counts only those who have.",
  join_closed: "Join the next period; this one takes no players in or out any more.",
  tournament_full: "Join another period, or try again before the start; a player may leave.",
  conflict: "Read the current state, then decide again.",
  not_settled: "Wait as long as the server asks, then read it again.",
  gone: "Do not send it again; what it names no longer exists.",
  payload_too_large: "Send less in one request.",
  delta_out_of_range: "Send a delta within the limits.",
  score_out_of_range: "Keep the score within the board's limits.",
  rule_violated: "Follow the board's rules, such as starting an action first.",
  rate_limited: "Wait as long as the server asks, then send it again with the same event id.",
};

/**
 * ScoreboardError says why a call failed: an error response of the server or, with the
 * status 0, a failure without a response (the code is "unavailable", the cause in cause).
 * If the caller's signal ended the call, name is that of its reason, such as "AbortError".
 */
export class ScoreboardError extends Error {
  /** What is wrong, for programs. */
  readonly code: Code;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** The invalid field of the request, or "". */
  readonly field: string;
  /** Which rule rejected the request, if code alone does not say, or "". */
  readonly reason: string;
  /** Event id of the increment, or "". It is safe to send it again. */
  readonly eventId: string;
  /** Finds the request in the server's logs. */
  readonly requestId: string;
  /** How long the server asks to wait, in milliseconds; 0 if it does not. */
  readonly retryAfter: number;
  /** In a not_found: the rank of the score in question; 0 if there is none. */
  readonly wouldRank: number;
  /** In an attempts_used: when the next period begins, in RFC 3339; "" if none is planned. */
  readonly nextReset: string;
  /** Number of tries. */
  readonly attempts: number = 1;

  constructor(fields: ErrorFields) {
    super(fields.message, { cause: fields.cause });
    this.name = "ScoreboardError";
    this.code = fields.code;
    this.status = fields.status ?? 0;
    this.field = fields.field ?? "";
    this.reason = fields.reason ?? "";
    this.eventId = fields.eventId ?? "";
    this.requestId = fields.requestId ?? "";
    this.retryAfter = fields.retryAfter ?? 0;
    this.wouldRank = fields.wouldRank ?? 0;
    this.nextReset = fields.nextReset ?? "";
  }

  /** Whether the same call may succeed later: the server was overloaded, failing or unreachable. */
  get temporary(): boolean {
    return /^(rate_limited|overloaded|unavailable|internal)$/.test(this.code) || this.status >= 500;
  }

  /** What to do about the error, for people; "" for a permanent error with an unknown code. */
  get nextStep(): string {
    const step = Object.hasOwn(nextSteps, this.code) ? nextSteps[this.code] : "";
    return step || (this.temporary ? "Send it again later, with the same event id." : "");
  }
}

/** connectionError is a failure without a response. */
export function connectionError(message: string, cause?: unknown): ScoreboardError {
  return new ScoreboardError({ code: "unavailable", message, cause });
}

/** abortedError is the failure of a call that the caller's signal ended. */
export function abortedError(signal: AbortSignal): ScoreboardError {
  const reason: unknown = signal.reason;
  const error = connectionError("the call was aborted", reason);
  error.name = reason instanceof Error || reason instanceof DOMException ? reason.name : "AbortError";
  return error;
}

/** wrap makes a failed connection of any error that is not one of the client's. */
export function wrap(what: string, error: unknown): ScoreboardError {
  if (error instanceof ScoreboardError) return error;
  return connectionError(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
}

/** responseError decodes an error response. If it is not the API's, only its status counts. */
export function responseError(status: number, headers: Headers, body: string): ScoreboardError {
  const base = {
    status,
    requestId: headers.get("X-Request-Id") ?? "",
    retryAfter: retryAfter(headers.get("Retry-After") ?? ""),
  };
  const sent = parse(body);
  if (!sent?.error_code) {
    return new ScoreboardError({
      ...base, code: codeOf(status), message: `unexpected response ${status}, not from this API`,
    });
  }
  return new ScoreboardError({
    ...base,
    code: sent.error_code,
    message: sent.message ?? sent.error_code,
    field: sent.field,
    reason: sent.reason,
    eventId: sent.event_id,
    wouldRank: sent.would_rank,
    nextReset: sent.next_reset,
    requestId: sent.request_id || base.requestId,
  });
}

function parse(body: string): Partial<components["schemas"]["Error"]> | null {
  try {
    return JSON.parse(body) as ReturnType<typeof parse>;
  } catch {
    return null; // not of the API
  }
}

const codes: Record<number, Code> = {
  401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "rate_limited",
  502: "unavailable", 503: "unavailable", 504: "unavailable",
};

function codeOf(status: number): Code {
  return codes[status] ?? (status < 500 ? "invalid_request" : "internal");
}

/** The longest wait that a server can ask for, in milliseconds: a timer of more than 24 days would end at once. */
const LONGEST_RETRY_AFTER = 24 * 3600 * 1000;

/** retryAfter parses both forms of the header, in milliseconds; 0 if it is neither. */
function retryAfter(header: string): number {
  const at = /^[+-]?\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Math.min(Math.max(at || 0, 0), LONGEST_RETRY_AFTER);
}
