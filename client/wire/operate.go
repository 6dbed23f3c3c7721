package wire

import "time"

// Outbox is the response of GET /v1/admin/outbox.
type Outbox struct {
	Halted string        `json:"halted,omitempty"` // why publishing and ranking are halted, if they are
	Shards []OutboxShard `json:"shards"`           // the shards; each has a relay of its own
	// HorizonAgeMS is the age in milliseconds of the oldest open write transaction. Changes that were
	// committed after it began are not published before it ends.
	HorizonAgeMS int64    `json:"horizon_age_ms"`
	Partitions   []string `json:"partitions"` // the outbox's partitions in PostgreSQL
}

// OutboxShard is the state of one shard: its relay and its backlog.
type OutboxShard struct {
	Shard      int    `json:"shard"`           // number of the shard, from 0
	Owner      string `json:"owner,omitempty"` // node that relays the shard; absent if none does
	Generation int64  `json:"generation"`      // number of the lease, which rises when another node takes over
	// Time in milliseconds until the lease ends; another node may take over then.
	LeaseLeftMS int64  `json:"lease_left_ms"`
	CursorXID   uint64 `json:"cursor_xid"`           // transaction id of the last published change
	CursorID    int64  `json:"cursor_id"`            // row id of the last published change
	Attempts    int    `json:"attempts"`             // number of attempts in a row that failed
	LastError   string `json:"last_error,omitempty"` // why the last attempt failed; absent if it did not
	Depth       int64  `json:"depth"`                // unpublished changes, counted up to a million
	// Age of the oldest unpublished change, in milliseconds; 0: none waits.
	OldestAgeMS int64 `json:"oldest_age_ms"`
}

// DeadLetter is a record that could not be processed. Value holds its bytes, in JSON as
// base64.
type DeadLetter struct {
	ID             int64     `json:"id"`               // number of the dead letter
	Topic          string    `json:"topic"`            // the record's topic or stream
	Partition      int       `json:"partition"`        // partition of the record, from 0
	Offset         int64     `json:"offset"`           // offset of the record in its partition
	Reason         string    `json:"reason"`           // why it could not be processed, in words
	Attempts       int       `json:"attempts"`         // number of times that it was tried
	DeadLetteredAt time.Time `json:"dead_lettered_at"` // time at which it became a dead letter
	Value          []byte    `json:"value,omitempty"`  // the record's bytes, as base64; absent in lists
}

// DeadLetters is the response of GET /v1/admin/dead-letters, oldest first, without
// values. NextAfter is the value of after for the next page.
type DeadLetters struct {
	Letters []DeadLetter `json:"letters"` // the dead letters of the page, oldest first
	// Number after which the next page begins; absent on the last page.
	NextAfter int64 `json:"next_after,omitempty"`
}

// RankingStatus is the response of GET /v1/admin/boards/{board}/ranking. Members is the
// number of ranked users, Bytes their memory in Redis, AgeMS how far the ranking is
// behind the ledger.
type RankingStatus struct {
	Board      string     `json:"board"`
	State      string     `json:"state"`              // HEALTHY, CATCHING_UP or DEGRADED_REBUILDING
	Partitions int        `json:"partitions"`         // number of Redis keys that it is in now; 0: not loaded
	Rebuilding bool       `json:"rebuilding"`         // true while a rebuild runs
	Suspect    bool       `json:"suspect"`            // true if Redis restarted and may hold an old state
	Epoch      int64      `json:"epoch"`              // number of the ranking, which rises with each rebuild
	Version    int64      `json:"version"`            // version of the board's top 100, which rises within an epoch
	Members    int64      `json:"members"`            // number of ranked users
	Bytes      int64      `json:"bytes"`              // memory of the ranking in Redis, in bytes
	BuiltAt    *time.Time `json:"built_at,omitempty"` // end of the last rebuild
	AsOf       *time.Time `json:"as_of,omitempty"`
	AgeMS      *int64     `json:"age_ms,omitempty"` // how far the ranking is behind the ledger, in milliseconds
}

// ShownState is State, but NOT_LOADED for a ranking that reads do without while no rebuild runs.
func (s *RankingStatus) ShownState() string {
	if s.State == "DEGRADED_REBUILDING" && !s.Rebuilding {
		return "NOT_LOADED"
	}
	return s.State
}

// JobRequest is the body of POST /v1/admin/rebuild, /verify and /reconcile. It selects
// one board or all. UserID applies to verify and reconcile, Repair to reconcile.
type JobRequest struct {
	Board  string `json:"board,omitempty"`   // the board, or all
	All    bool   `json:"all,omitempty"`     // true: all boards, instead of board
	UserID string `json:"user_id,omitempty"` // for verify and reconcile: only this user
	Repair bool   `json:"repair,omitempty"`  // for reconcile: true repairs the ranking; otherwise it is only compared
}

// JobLine is one line of the NDJSON that a job returns: its progress or, on the last
// line, its result or an error. The job stops if the client disconnects.
type JobLine struct {
	Type       string          `json:"type"`                 // progress, result or error
	Board      string          `json:"board,omitempty"`      // board that the job works on
	Users      int64           `json:"users,omitempty"`      // number of users done so far
	Records    int64           `json:"records,omitempty"`    // records replayed, or events read, so far
	Total      int64           `json:"total,omitempty"`      // number of users or records, if known
	Rebuilt    []Rebuilt       `json:"rebuilt,omitempty"`    // result of a rebuild
	Verified   *Verified       `json:"verified,omitempty"`   // result of verify or reconcile
	Archived   *Archived       `json:"archived,omitempty"`   // result of ledger/archive
	Replayed   *Replayed       `json:"replayed,omitempty"`   // result of a replay
	Checkpoint *KeptCheckpoint `json:"checkpoint,omitempty"` // result of ledger/checkpoint
	WhatIf     *WhatIf         `json:"what_if,omitempty"`    // result of a what-if
	Error      *Error          `json:"error,omitempty"`      // why the job ended early
}

// ArchiveRequest is the body of POST /v1/admin/ledger/archive. A dry run only lists
// the partitions.
type ArchiveRequest struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// CheckpointRequest is the body of POST /v1/admin/ledger/checkpoint.
type CheckpointRequest struct {
	Board string    `json:"board,omitempty"` // name of the board; global by default
	At    time.Time `json:"at"`              // the moment
}

// KeptCheckpoint is the standings of a board at a moment, read from the archive. Until KeptUntil,
// reads with the same at are answered.
type KeptCheckpoint struct {
	Board     string    `json:"board"`
	At        time.Time `json:"at"`         // the moment
	Users     int64     `json:"users"`      // number of ranked users
	Events    int64     `json:"events"`     // number of ledger rows of the board that were read
	KeptUntil time.Time `json:"kept_until"` // time at which the standings are deleted
}

// Archived is the list of ledger partitions that were archived or, in a dry run, would be.
type Archived struct {
	Partitions []ArchivedPartition `json:"partitions"` // the partitions, oldest first
	DryRun     bool                `json:"dry_run,omitempty"`
	TookMS     int64               `json:"took_ms"`
}

// ArchivedPartition is an archived partition. In a dry run only its name and time range
// are set.
type ArchivedPartition struct {
	Partition string    `json:"partition"` // name of the partition
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Rows      int64     `json:"rows,omitempty"`   // number of rows
	File      string    `json:"file,omitempty"`   // name of the file in the archive
	Bytes     int64     `json:"bytes,omitempty"`  // size of the file in bytes
	SHA256    string    `json:"sha256,omitempty"` // SHA-256 of the file, in hex
}

// Rebuilt is the result of rebuilding one board.
type Rebuilt struct {
	Board  string `json:"board"`
	Epoch  int64  `json:"epoch"` // number of the new ranking
	Users  int64  `json:"users"` // number of ranked users
	TookMS int64  `json:"took_ms"`
}

// Verified is the result of verify or reconcile.
type Verified struct {
	Users       int64        `json:"users"`             // number of compared users
	Rows        int64        `json:"ledger_rows"`       // number of ledger rows that were read
	Rewards     int64        `json:"rewards"`           // number of compared rewards of periods that have ended
	Wrong       int64        `json:"differences_total"` // number of differences
	Repaired    int64        `json:"repaired"`          // number of users whose ranking was repaired
	Differences []Difference `json:"differences"`       // the first 1,000 differences
	TookMS      int64        `json:"took_ms"`
}

// Difference is one difference between ledger, score and ranking, or between final standings and rewards.
type Difference struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	// What differs, such as sum, version_gap, no_score, no_ledger, uncounted, orphaned_member, team or reward_missing.
	Kind   string `json:"kind"`
	Detail string `json:"detail"` // both values, in words
}

// ReplayRequest is the body of POST /v1/admin/replay: replay from an offset of a
// partition, from a time, or the dead letters. A dry run only counts.
type ReplayRequest struct {
	FromOffset *int64     `json:"from_offset,omitempty"` // offset to start from, from 0
	FromTime   *time.Time `json:"from_time,omitempty"`   // time to start from
	DLQ        bool       `json:"dlq,omitempty"`         // true: replay the dead letters
	Topic      string     `json:"topic,omitempty"`       // topic to replay; with from_offset
	Partition  *int       `json:"partition,omitempty"`   // partition to replay, from 0; with from_offset
	DryRun     bool       `json:"dry_run,omitempty"`
}

// Replayed is the result of a replay or, if DryRun is set, what it would change.
type Replayed struct {
	Topic      string `json:"topic,omitempty"` // topic that was replayed
	DryRun     bool   `json:"dry_run"`
	Records    int64  `json:"records"`    // number of records that were read
	Changed    int64  `json:"changed"`    // changes applied to the ranking, or dead letters requeued
	Unchanged  int64  `json:"unchanged"`  // changes that the ranking already had, or newer ones
	Unreadable int64  `json:"unreadable"` // malformed records, which are skipped
	TooNew     int64  `json:"too_new"`    // records that a newer build wrote
	TooOld     int64  `json:"too_old"`    // changes too old for repeats of them to be recognised
	NoRanking  int64  `json:"no_ranking"` // changes to boards without a ranking
	TookMS     int64  `json:"took_ms"`
}
