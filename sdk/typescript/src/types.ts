import type { Camel } from "./camel.js";
import type { ScoreboardError } from "./error.js";
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/**
 * Entry is one row of a board: rank (from 1), userId, score, on a board with subscores the subscore and, if set,
 * displayName and avatarUrl.
 */
export interface Entry extends Camel<Schemas["Entry"]> {}

/**
 * Receipt is the outcome of an increment on one board. rank is null if it was not read in time.
 * matched are the receipts of the boards on which an increment without a board counts by their
 * rules, if there are any.
 */
export interface Receipt extends Camel<Schemas["Receipt"]> {}

/**
 * Top is a page of a board: entries, best first, the total number of users, and asOf and ageMs for
 * its freshness. If it is degraded, that is, not from a healthy ranking, version and epoch are null.
 */
export interface Top extends Camel<Schemas["Top"]> {}

/** Place is one user's standing: score, rank, total, percentile and, if requested, neighbours. */
export interface Place extends Camel<Schemas["Place"]> {}

/** List is the standings of a list of users: entries, best first, and notFound. */
export interface List extends Camel<Schemas["List"]> {}

/** RankHistory is a user's score and rank at points of time, with a summary of them. */
export interface RankHistory extends Camel<Schemas["RankHistory"]> {}

/** Timeline is the first rows of a board over time: frames where they changed, and nextFrom if there are more. */
export interface Timeline extends Camel<Schemas["Timeline"]> {}

/** RankExplanation is what a user's rank follows from. */
export interface RankExplanation extends Camel<Schemas["RankExplanation"]> {}

/** Statement is a page of a user's ledger: entries, newest first. */
export interface Statement extends Camel<Schemas["Statement"]> {}

/** StatementEntry is one event on one board. */
export interface StatementEntry extends Camel<Schemas["StatementEntry"]> {}

/** Profile is how a user is displayed. */
export interface Profile extends Camel<Schemas["Profile"]> {}

/** Reward is what a user has won in a period of a board. Give out its reward, the game's own JSON, once for each id. */
export interface Reward extends Camel<Schemas["Reward"]> {}

/** Rewards is a page of the rewards of a user, newest first; nextBefore is before for the next one. */
export interface Rewards extends Camel<Schemas["Rewards"]> {}

/** LeaguePlace is where a player is in a period of a league: division, cohort, rank in it, zone and time left. */
export interface LeaguePlace extends Camel<Schemas["LeaguePlace"]> {}

/** Cohort is a page of the standings of a cohort; nextAfter is after for the next one. */
export interface Cohort extends Camel<Schemas["Cohort"]> {}

/** LeagueOutcome is what the end of a period has decided about a player. */
export interface LeagueOutcome extends Camel<Schemas["LeagueOutcome"]> {}

/** LeagueHistory is a page of the outcomes of a player, newest first; nextBefore is before for the next one. */
export interface LeagueHistory extends Camel<Schemas["LeagueHistory"]> {}
/** Participation is how many have joined a period of a board that requires it, and whether a user has. */
export interface Participation extends Camel<Schemas["Participation"]> {}

/** ActionRequest starts an action: its user, its board, and limits within those of the board. */
export interface ActionRequest extends Camel<Schemas["ActionRequest"]> {}

/** Action is a started action, with the actionToken for its increment. */
export interface Action extends Camel<Schemas["Action"]> {}

/** JoinTicket lets a page open one stream, without a bearer token. */
export interface JoinTicket extends Camel<Schemas["JoinTicket"]> {}

/** Increment is one event to count. */
export interface Increment {
  userId: string;
  /** Points to add; on best and latest boards the submitted score. */
  delta: number;
  /**
   * An event id counts once for each user, however often it is sent: 1 to 128 of
   * A-Z a-z 0-9 . _ : @ -. Use the id of what is counted, such as a match; otherwise the client
   * generates one.
   */
  eventId?: string;
  /** global by default. */
  board?: string;
  /** What the user did, for boards with rules about it. */
  action?: string;
  /** From startAction, for boards that require one; it is valid for one event. */
  actionToken?: string;
  /** Signed by an authoritative game server. */
  attestation?: string;
  /**
   * What rules of boards compare, such as region and platform: up to 8 names, each with a value of
   * 1 to 64 of A-Z a-z 0-9 . _ : @ -. Only without a board. They are signed in the headers.
   */
  attributes?: Record<string, string>;
  /**
   * Counts only while this is the current period of the board, such as weekly:2026-w47; else it
   * fails with period_ended. It is signed in the headers.
   */
  ifPeriod?: string;
  /**
   * What the submission says about itself, such as the character that was played: at most 1 KiB, for
   * boards that keep metadata. It is signed in the headers.
   */
  metadata?: Record<string, unknown>;
  /**
   * What decides among equal scores, on boards that have subscores; 0 by default. It is signed in the
   * headers.
   */
  subscore?: number;
}

/** EventStatus is what became of an event. */
export interface EventStatus {
  id: string;
  status: "pending" | "done" | "rejected";
  /** If done: a receipt for each board, also of those that rules have added. */
  receipts: Receipt[];
  /** If rejected: why. */
  code: string;
  message: string;
}

/** Result is the outcome of one increment of a batch: a receipt or an error. */
export type Result = { receipt: Receipt; error?: undefined } | { receipt?: undefined; error: ScoreboardError };

/** CallOptions limit a call. */
export interface CallOptions {
  /** Ends the call. An increment may have been counted by then. */
  signal?: AbortSignal;
}

/** TopQuery selects a page of a board. */
export interface TopQuery {
  /** global by default. */
  board?: string;
  /** 1 to 100 rows; 10 by default. */
  limit?: number;
  /** nextCursor of the page before. */
  cursor?: string;
  /** Only users in this tier of the board; without minVersion. */
  tier?: string;
  /** Waits up to 1 s for this version of the board. */
  minVersion?: number;
}

/** PlaceQuery selects a user's standing. */
export interface PlaceQuery {
  /** global by default. */
  board?: string;
  /** Rows above and below the user; none by default. */
  neighbours?: number;
  /** The standing must include the user's receipt with this version. */
  minVersion?: number;
  /** A score to rank if the user is not on the board: the error not_found has it in wouldRank. */
  score?: number;
  /** Goes with score, on a board that has subscores. */
  subscore?: number;
}

/** HistoryQuery selects the points of a rank history: a day in hours, up to now, by default. */
export interface HistoryQuery {
  /** global by default; a family is read in the period of the last point. */
  board?: string;
  /** The first point. */
  from?: Date;
  /** The last point at the latest. */
  to?: Date;
  /** Duration between points, such as "1h" (the default); 1s to 8784h. */
  step?: string;
  /** Whether to leave out the events that are reversed, and the users that are banned, now. */
  asNow?: boolean;
}

/** TimelineQuery selects a part of a timeline: the period, or the last day, by default. */
export interface TimelineQuery {
  /** global by default; a family is read in the period of from, or else of to. For the next part board of the one before. */
  board?: string;
  /** The first step, an RFC 3339 time; for the next part nextFrom of the one before. */
  from?: string;
  /** The last step; for the next part endsAt of the one before. */
  to?: string;
  /** Duration between steps, such as "1h"; 1s to 8784h, and a 250th of the timeline by default. */
  step?: string;
  /** Rows, 1 to 100; 10 by default. */
  limit?: number;
  /** Whether to leave out the events that are reversed, and the users that are banned, now. */
  asNow?: boolean;
}

/** StatementQuery selects a page of a statement. */
export interface StatementQuery {
  /** One board, or all periods of a family; all boards by default. */
  board?: string;
  from?: Date;
  /** Exclusive. */
  to?: Date;
  /** nextCursor of the page before. */
  cursor?: string;
  /** Entries of a page, up to 100. */
  limit?: number;
}
