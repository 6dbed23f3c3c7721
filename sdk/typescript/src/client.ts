import type { Camel } from "./camel.js";
import { connectionError, ScoreboardError } from "./error.js";
import { requestOf, signed, signedInHeaders, withEventId } from "./increment.js";
import type { components } from "./openapi.js";
import { type Options, settingsOf } from "./options.js";
import { segment, Transport } from "./transport.js";
import type {
  Action, ActionRequest, CallOptions, EventStatus, Increment, JoinTicket, List, Place, PlaceQuery, Profile,
  Receipt, Result, Statement, StatementEntry, StatementQuery, Top, TopQuery, Entry, HistoryQuery, RankExplanation,
  Participation, RankHistory, Reward, Rewards, Timeline, TimelineQuery, Cohort, LeagueHistory, LeaguePlace,
} from "./types.js";
import { sleep } from "./wait.js";
import type { State, WatchOptions } from "./watch/state.js";
import { watch } from "./watch/watch.js";

type Schemas = components["schemas"];

const INCREMENT = "/v1/scores/increment";

/** The maximum number of increments in a batch. */
export const MAX_BATCH = 500;

/**
 * Scoreboard is a client of one server. It has no global state and nothing to close: a signal
 * ends a call, and leaving the loop ends a watch.
 */
export class Scoreboard {
  readonly #transport: Transport;

  /** Without a server, the address and the credentials are those of the SBCTL_ variables. */
  constructor(options: Options = {}) {
    this.#transport = new Transport(settingsOf(options));
  }

  /**
   * submit counts an increment and returns its receipt. It retries temporary errors with the same
   * event id, so the increment counts at most once. If it fails, the error has the event id, with
   * which the increment can safely be sent again, now or tomorrow.
   *
   * If the server queues the increment, submit waits for its outcome, for 30 s at most. Then the
   * error has the status 202 and the code unavailable: the increment is accepted, and receipt
   * returns its outcome later.
   */
  async submit(increment: Increment, options?: CallOptions): Promise<Receipt> {
    const receipts = await this.#counted(increment, undefined, options);
    // The look-up of an event lists its receipts by the names of the boards.
    const first = receipts.find((r) => r.board === "global") ?? receipts[0]!;
    if (receipts.length === 1) return first;
    return { ...first, matched: receipts.filter((r) => r !== first) };
  }

  /**
   * submitBoards counts one increment on several boards, all or none, and returns their receipts in
   * the order of boards. It ignores the increment's board. It waits for a queued increment as submit
   * does.
   */
  async submitBoards(increment: Increment, boards: string[], options?: CallOptions): Promise<Receipt[]> {
    const receipts = await this.#counted({ ...increment, board: undefined }, boards, options);
    // The receipt of a periodic board is of its period, such as daily:2026-11-21.
    const place = ({ board }: Receipt): number => boards.indexOf(board.replace(/:.*/, ""));
    return receipts.sort((a, b) => place(a) - place(b));
  }

  /**
   * submitAsync lets the server queue an increment. The event is pending, or done if the server
   * counted it at once; waitForEvent waits for it.
   */
  async submitAsync(increment: Increment, options?: CallOptions): Promise<EventStatus> {
    return statusOf(await this.#increment(increment, undefined, { Prefer: "respond-async" }, options));
  }

  /** #counted returns the receipts of an increment, one for each board. */
  async #counted(increment: Increment, boards: string[] | undefined, options?: CallOptions): Promise<Receipt[]> {
    const sent = withEventId(increment);
    const { eventId, userId } = sent;
    let event = statusOf(await this.#increment(sent, boards, {}, options));
    if (event.status === "pending") {
      event = await this.waitForEvent(eventId, { ...options, userId, timeout: 30_000 }).catch((error: unknown) => {
        if (!(error instanceof ScoreboardError)) throw error;
        throw error.temporary && !options?.signal?.aborted ? pendingError(eventId, error)
          : Object.assign(error, { eventId });
      });
    }
    const { status, code, message, receipts } = event;
    if (status === "rejected") throw new ScoreboardError({ code, message, status: 200, eventId });
    if (receipts.length === 0) throw noReceipt(eventId);
    return receipts;
  }

  async #increment(
    increment: Increment, boards: string[] | undefined, headers: Record<string, string>, options?: CallOptions,
  ): Promise<EventResponse> {
    const increments = withEventId(increment);
    const { eventId } = increments;
    const receipt = await this.#transport.send<EventResponse>({
      method: "POST", path: INCREMENT, eventId, headers, sign: signedInHeaders(increment),
      body: () => signed(requestOf(increments, boards), this.#transport.settings),
    }, options?.signal);
    if (receipt?.processedEventId) return receipt;
    throw noReceipt(eventId);
  }

  /**
   * submitBatch counts up to MAX_BATCH increments in one request, which needs the scope
   * score:update, and returns a result for each, in order. If it fails, the outcome of all is
   * unknown. They can be sent again, because it adds missing event ids to the given increments.
   */
  async submitBatch(increments: Increment[], options?: CallOptions): Promise<Result[]> {
    for (const increment of increments) increment.eventId = withEventId(increment).eventId;
    const { results } = await this.#transport.send<{ results: Camel<Schemas["BatchResult"]>[] }>({
      method: "POST", path: "/v1/scores/increments", sign: true,
      body: () => ({ items: increments.map((increment) => requestOf(withEventId(increment))) }),
    }, options?.signal);
    if (results?.length !== increments.length) {
      throw connectionError(`${results?.length ?? "no"} results for ${increments.length} increments`);
    }
    return results.map(({ receipt, error }, n) => {
      const eventId = increments[n]?.eventId;
      if (receipt) return { receipt };
      if (!error) return { error: noReceipt(eventId) };
      return { error: new ScoreboardError({ ...error, code: error.errorCode, status: 200, eventId }) };
    });
  }

  /**
   * receipt looks up an event by its id: of the token's user or, with the scope score:update, of
   * any. The error is not_found if the server does not know the event, or does not know it yet.
   */
  async receipt(eventId: string, options: CallOptions & { userId?: string } = {}): Promise<EventStatus> {
    return statusOf(await this.#transport.send({
      method: "GET", path: `/v1/events/${segment(eventId)}`, query: { user_id: options.userId },
    }, options.signal));
  }

  /**
   * waitForEvent waits until an event is done or rejected, for timeout milliseconds (60,000 by default)
   * at most. It looks at first after 50 ms, later every 2 s.
   */
  async waitForEvent(
    eventId: string, options: CallOptions & { userId?: string; timeout?: number } = {},
  ): Promise<EventStatus> {
    const end = Date.now() + (options.timeout ?? 60_000);
    for (let wait = 50; ; wait = Math.min(2 * wait, 2_000)) {
      const event = await this.receipt(eventId, options).catch((error: unknown) => {
        const later = error instanceof ScoreboardError && (error.code === "not_found" || error.temporary);
        if (later && !options.signal?.aborted) return undefined;
        throw error;
      });
      if (event && event.status !== "pending") return event;
      if (Date.now() + wait > end) {
        throw event ? pendingError(eventId)
          : Object.assign(connectionError(`the outcome of event ${eventId} is not known`), { eventId });
      }
      await sleep(wait, options.signal);
    }
  }

  /**
   * startAction starts an action of a user. The increment that ends it carries its actionToken, has
   * the same board and action, and is sent after minDuration and before expiresAt.
   */
  async startAction(request: ActionRequest, options?: CallOptions): Promise<Action> {
    const body: Schemas["ActionRequest"] = {
      user_id: request.userId, board: request.board, boards: request.boards, action: request.action,
      action_id: request.actionId, min_duration: request.minDuration, ttl: request.ttl,
      min_delta: request.minDelta, max_delta: request.maxDelta,
    };
    return this.#transport.send({ method: "POST", path: "/v1/actions", body: () => body }, options?.signal);
  }

  /**
   * top reads the top of a board, or with a cursor the next page. A cursor is a standing, not an
   * offset: while others move, users whose standing is unchanged are neither skipped nor repeated.
   */
  async top({ board, limit, cursor, tier, minVersion }: TopQuery = {}, options?: CallOptions): Promise<Top> {
    return this.#transport.send({
      method: "GET", path: "/v1/leaderboard/top",
      query: { board, limit: limit || undefined, min_version: minVersion || undefined, tier, cursor },
    }, options?.signal);
  }

  /** entries reads the rows of a board, page by page. */
  entries(query: TopQuery = {}, options?: CallOptions): AsyncGenerator<Entry, void, undefined> {
    return pages((cursor) => this.top({ ...query, cursor }, options), query.cursor);
  }

  /** me reads the standing of the token's user. */
  async me(query?: PlaceQuery, options?: CallOptions): Promise<Place> {
    return this.#place("/v1/leaderboard/me", query, options);
  }

  /** score reads a user's score and rank. */
  async score(userId: string, query?: PlaceQuery, options?: CallOptions): Promise<Place> {
    return this.#place(`/v1/users/${segment(userId)}/score`, query, options);
  }

  /** rank reads a user's rank, with neighbours above and below. */
  async rank(userId: string, query?: PlaceQuery, options?: CallOptions): Promise<Place> {
    return this.#place(`/v1/users/${segment(userId)}/rank`, query, options);
  }

  #place(path: string, q: PlaceQuery = {}, options?: CallOptions): Promise<Place> {
    // k is sent even if it is 0, which is not the server's default everywhere.
    const query = {
      board: q.board, k: q.neighbours ?? 0, min_version: q.minVersion || undefined, score: q.score,
      subscore: q.subscore,
    };
    return this.#transport.send({ method: "GET", path, query }, options?.signal);
  }

  /** users reads the standings of up to 100 users, such as a player's friends. */
  async users(userIds: string[], query: { board?: string } = {}, options?: CallOptions): Promise<List> {
    const body: Schemas["Users"] = { board: query.board, user_ids: userIds };
    return this.#transport.send({ method: "POST", path: "/v1/leaderboard/users", body: () => body }, options?.signal);
  }

  /** statement reads a page of a user's ledger: of the token's user or, with the scope score:operate, of any. */
  async statement(userId: string, q: StatementQuery = {}, options?: CallOptions): Promise<Statement> {
    return this.#transport.send({
      method: "GET", path: `/v1/users/${segment(userId)}/statement`,
      query: {
        board: q.board, from: q.from?.toISOString(), to: q.to?.toISOString(), cursor: q.cursor,
        limit: q.limit || undefined,
      },
    }, options?.signal);
  }

  /** statementEntries reads a user's ledger, page by page, newest first. */
  statementEntries(userId: string, query: StatementQuery = {}, options?: CallOptions): AsyncGenerator<StatementEntry> {
    return pages((cursor) => this.statement(userId, { ...query, cursor }, options), query.cursor);
  }

  /** rankHistory reads a user's score and rank over time, of at most 1,000 points. The user "me" is the token's. */
  async rankHistory(userId: string, q: HistoryQuery = {}, options?: CallOptions): Promise<RankHistory> {
    return this.#transport.send({
      method: "GET", path: `/v1/users/${segment(userId)}/history`,
      query: {
        board: q.board, from: q.from?.toISOString(), to: q.to?.toISOString(), step: q.step,
        as: q.asNow ? "now" : undefined,
      },
    }, options?.signal);
  }

  /** timeline reads the top of a board at regular times of the past, where it changed: a part of at most 500 steps. */
  async timeline(q: TimelineQuery = {}, options?: CallOptions): Promise<Timeline> {
    const { asNow, ...query } = q;
    return this.#transport.send({
      method: "GET", path: "/v1/leaderboard/timeline", query: { ...query, as: asNow ? "now" : undefined },
    }, options?.signal);
  }

  /**
   * explainRank reads what a user's rank follows from: of the token's user ("me") or, with the scope
   * score:operate, of any.
   */
  async explainRank(
    userId: string, query: { board?: string } = {}, options?: CallOptions,
  ): Promise<RankExplanation> {
    const path = `/v1/users/${segment(userId)}/rank/explain`;
    return this.#transport.send({ method: "GET", path, query: { board: query.board } }, options?.signal);
  }

  /** profile reads how a user is displayed. The error is not_found if the user has no profile. */
  async profile(userId: string, options?: CallOptions): Promise<Profile> {
    return this.#transport.send({ method: "GET", path: `/v1/users/${segment(userId)}/profile` }, options?.signal);
  }

  /** putProfile sets how a user is displayed; an absent field removes the value. */
  async putProfile(
    userId: string, profile: { displayName?: string; avatarUrl?: string }, options?: CallOptions,
  ): Promise<Profile> {
    const body: Schemas["ProfileRequest"] = { display_name: profile.displayName, avatar_url: profile.avatarUrl };
    return this.#transport.send({
      method: "PUT", path: `/v1/users/${segment(userId)}/profile`, body: () => body,
    }, options?.signal);
  }

  /**
   * joinBoard joins a period of a board that requires it, for the token's user or with the scope score:update for any.
   * The name of a board means its next period that can be joined. A repeat changes nothing. It fails with
   * tournament_full and join_closed.
   */
  async joinBoard(board: string, options: CallOptions & { userId?: string } = {}): Promise<Participation> {
    return this.#participation("POST", board, options);
  }

  /** leaveBoard leaves a period that has not begun. The name of a board means the next one. */
  async leaveBoard(board: string, options: CallOptions & { userId?: string } = {}): Promise<Participation> {
    return this.#participation("DELETE", board, options);
  }

  /** participation says how many have joined a period, and whether the user has. */
  async participation(board: string, options: CallOptions & { userId?: string } = {}): Promise<Participation> {
    return this.#participation("GET", board, options);
  }

  async #participation(
    method: string, board: string, options: CallOptions & { userId?: string },
  ): Promise<Participation> {
    return this.#transport.send({
      method, path: `/v1/boards/${segment(board)}/join`, query: { user_id: options.userId },
    }, options.signal);
  }

  /** rewards reads a page of the rewards of the token's user, newest first, or with the scope score:update of any. */
  async rewards(
    q: { userId?: string; state?: Reward["state"]; before?: number; limit?: number } = {}, options?: CallOptions,
  ): Promise<Rewards> {
    return this.#transport.send({
      method: "GET", path: `/v1/users/${segment(q.userId ?? "me")}/rewards`,
      query: { state: q.state, before: q.before || undefined, limit: q.limit || undefined },
    }, options?.signal);
  }

  /**
   * claim claims a reward of the token's user, or with the scope score:update of any. A repeat returns the same, so give
   * out the reward once for each id.
   */
  async claim(id: number, options: CallOptions & { userId?: string } = {}): Promise<Reward> {
    return this.#transport.send({
      method: "POST", path: `/v1/users/${segment(options.userId ?? "me")}/rewards/${id}/claim`,
    }, options.signal);
  }

  /**
   * league reads the place of the token's user in a league, for its current period, or in a period, with k neighbours on
   * each side; with the scope score:update that of any user.
   */
  async league(
    board: string, q: { userId?: string; k?: number } = {}, options?: CallOptions,
  ): Promise<LeaguePlace> {
    const user = q.userId === undefined ? "me" : `users/${segment(q.userId)}`;
    return this.#transport.send({
      method: "GET", path: `/v1/leagues/${segment(board)}/${user}`, query: { k: q.k || undefined },
    }, options?.signal);
  }

  /** cohort reads the standings of a cohort of a league, best first, with ranks in the cohort. */
  async cohort(
    board: string, id: number, q: { after?: number; limit?: number } = {}, options?: CallOptions,
  ): Promise<Cohort> {
    return this.#transport.send({
      method: "GET", path: `/v1/leagues/${segment(board)}/cohorts/${id}`,
      query: { after: q.after || undefined, limit: q.limit || undefined },
    }, options?.signal);
  }

  /**
   * leagueHistory reads a page of what the ends of periods have decided about the token's user, newest first, or with the
   * scope score:update about any.
   */
  async leagueHistory(
    q: { userId?: string; league?: string; before?: number; limit?: number } = {}, options?: CallOptions,
  ): Promise<LeagueHistory> {
    return this.#transport.send({
      method: "GET", path: `/v1/users/${segment(q.userId ?? "me")}/leagues`,
      query: { league: q.league, before: q.before || undefined, limit: q.limit || undefined },
    }, options?.signal);
  }

  /** realtimeToken creates a ticket for a page's WebSocket or EventSource of one board. watch does so itself. */
  async realtimeToken(board?: string, options?: CallOptions): Promise<JoinTicket> {
    return this.#transport.send({ method: "GET", path: "/v1/realtime/token", query: { board } }, options?.signal);
  }

  /**
   * watch follows a board: over a WebSocket, else server-sent events, else by polling. It
   * reconnects by itself. The loop over it gets the latest state; a slow one misses states between.
   * It ends when it is left or the signal aborts, and fails if the server rejects this client
   * permanently (its token, its scope, an unknown board).
   */
  watch(query: WatchOptions = {}, options: CallOptions = {}): AsyncGenerator<State, void, undefined> {
    return watch(this.#transport, query, options.signal);
  }
}

async function* pages<T>(
  read: (cursor?: string) => Promise<{ entries: T[]; nextCursor?: string }>, cursor?: string,
): AsyncGenerator<T, void, undefined> {
  do {
    const page = await read(cursor);
    yield* page.entries;
    cursor = page.nextCursor;
  } while (cursor);
}

/** EventResponse is the state of an event in any of the forms in which the API sends it. */
type EventResponse = Omit<Receipt, "status"> & {
  receipts?: Receipt[]; status?: string; errorCode?: string; message?: string;
};

function noReceipt(eventId: string | undefined): ScoreboardError {
  return Object.assign(connectionError("the server's response contains no receipt"), { eventId });
}

function pendingError(eventId: string, cause?: unknown): ScoreboardError {
  const message = "the increment is accepted, but not counted yet";
  return new ScoreboardError({ code: "unavailable", message, status: 202, eventId, cause });
}

/** statusOf is the status of an event. */
function statusOf(r: EventResponse): EventStatus {
  // The response for several boards has no status.
  const status = r.receipts ? "done" : (r.status as EventStatus["status"]);
  return {
    id: r.processedEventId, status, receipts: r.receipts ?? (status === "done" ? [r as Receipt, ...(r.matched ?? [])] : []),
    code: r.errorCode ?? "", message: r.message ?? "",
  };
}
