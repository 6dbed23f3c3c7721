import type { Increment, PlaceQuery, Result, Scoreboard } from "@scoreboard/client";

/** Response is what the scripted server answers a request with. */
export interface ScriptedResponse {
  lost?: boolean; // the connection breaks instead
  status?: number;
  headers?: Record<string, string>;
  body?: unknown; // sent as JSON
  text?: string; // sent as it is, if there is no body
}

export interface Seen {
  at: number;
  method: string;
  url: URL;
  redirect: string | undefined;
  headers: Record<string, string>;
  text: string; // the body as sent
  body: Record<string, unknown> | undefined;
}

/** script is a fetch that answers with the given responses, in order, and records the requests. */
export function script(responses: ScriptedResponse[]): { fetch: typeof fetch; seen: Seen[] } {
  const seen: Seen[] = [];
  const scripted = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const sent = (init.body ?? "") as string;
    const body = sent ? (JSON.parse(sent) as Record<string, unknown>) : undefined;
    seen.push({
      at: Date.now(), method: init.method ?? "GET", url: new URL(String(input)), redirect: init.redirect,
      headers: init.headers as Record<string, string>, text: sent, body,
    });
    const answer = responses[seen.length - 1];
    if (!answer) throw new Error("one request more than scripted");
    if (answer.lost) throw new TypeError("connection lost");
    const text = answer.body === undefined ? (answer.text ?? "")
      : JSON.stringify(answer.body).replaceAll("$event_id", String(body?.["event_id"] ?? ""));
    return new Response(text, { status: answer.status ?? 200, headers: answer.headers ?? {} });
  };
  return { fetch: scripted as typeof fetch, seen };
}

export interface ScriptedIncrement {
  user_id: string;
  delta: number;
  event_id?: string;
  board?: string;
  action?: string;
  action_token?: string;
  attestation?: string;
  attributes?: Record<string, string>;
  if_period?: string;
  metadata?: Record<string, unknown>;
  subscore?: number;
}

export interface PlaceOf {
  user_id?: string;
  board?: string;
  limit?: number;
  neighbours?: number;
  min_version?: number;
}

/** VectorCall is one call of a client; exactly one field is set. */
export interface VectorCall {
  submit?: ScriptedIncrement;
  submit_boards?: ScriptedIncrement & { boards: string[] };
  batch?: ScriptedIncrement[];
  top?: PlaceOf;
  me?: PlaceOf;
  score?: PlaceOf;
  rank?: PlaceOf;
  users?: { board?: string; user_ids: string[] };
  action?: { user_id: string; board: string; action: string };
  receipt?: { event_id: string; user_id?: string };
}

const increment = (r: ScriptedIncrement): Increment => ({
  userId: r.user_id, delta: r.delta, eventId: r.event_id, board: r.board, action: r.action,
  actionToken: r.action_token, attestation: r.attestation, attributes: r.attributes,
  ifPeriod: r.if_period, metadata: r.metadata, subscore: r.subscore,
});

const query = (p: PlaceOf): PlaceQuery => ({
  board: p.board, neighbours: p.neighbours, minVersion: p.min_version,
});

const outcome = ({ receipt, error }: Result): unknown =>
  receipt ?? { code: error?.code, field: error?.field, eventId: error?.eventId };

/** perform makes a call. */
export async function perform(sb: Scoreboard, call: VectorCall): Promise<unknown> {
  if (call.submit) return sb.submit(increment(call.submit));
  if (call.submit_boards) return sb.submitBoards(increment(call.submit_boards), call.submit_boards.boards);
  if (call.batch) return { results: (await sb.submitBatch(call.batch.map(increment))).map(outcome) };
  if (call.top) return sb.top({ board: call.top.board, limit: call.top.limit, minVersion: call.top.min_version });
  if (call.me) return sb.me(query(call.me));
  if (call.score) return sb.score(call.score.user_id ?? "", query(call.score));
  if (call.rank) return sb.rank(call.rank.user_id ?? "", query(call.rank));
  if (call.users) return sb.users(call.users.user_ids, { board: call.users.board });
  if (call.action) {
    return sb.startAction({ userId: call.action.user_id, board: call.action.board, action: call.action.action });
  }
  if (call.receipt) return sb.receipt(call.receipt.event_id, { userId: call.receipt.user_id });
  throw new Error("a vector without a call");
}
