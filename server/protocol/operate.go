package protocol

import "time"

// Outbox is the response of GET /v1/admin/outbox.
type Outbox struct {
	Halted string        `json:"halted,omitempty"` // why publishing and ranking are halted, if they are
	Shards []OutboxShard `json:"shards"`
	// HorizonAgeMS is the age of the oldest open write transaction. Changes that were
	// committed after it began are not published before it ends.
	HorizonAgeMS int64    `json:"horizon_age_ms"`
	Partitions   []string `json:"partitions"`
}

// OutboxShard is the state of one shard: its relay and its backlog.
type OutboxShard struct {
	Shard       int    `json:"shard"`
	Owner       string `json:"owner,omitempty"`
	Generation  int64  `json:"generation"`
	LeaseLeftMS int64  `json:"lease_left_ms"`
	CursorXID   uint64 `json:"cursor_xid"`
	CursorID    int64  `json:"cursor_id"`
	Attempts    int    `json:"attempts"`
	LastError   string `json:"last_error,omitempty"`
	Depth       int64  `json:"depth"` // unpublished changes, counted up to a million
	OldestAgeMS int64  `json:"oldest_age_ms"`
}

// DeadLetter is a record that could not be processed. Value holds its bytes, in JSON as
// base64.
type DeadLetter struct {
	ID        int64     `json:"id"`
	Topic     string    `json:"topic"`
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	BuriedAt  time.Time `json:"buried_at"`
	Value     []byte    `json:"value,omitempty"`
}

// DeadLetters is the response of GET /v1/admin/dead-letters, oldest first, without
// values. NextAfter is the value of after for the next page.
type DeadLetters struct {
	Letters   []DeadLetter `json:"letters"`
	NextAfter int64        `json:"next_after,omitempty"`
}

// RankingStatus is the response of GET /v1/admin/boards/{board}/ranking. Members is the
// number of ranked users, Bytes their memory in Redis, AgeMS how far the ranking is
// behind the ledger.
type RankingStatus struct {
	Board      string     `json:"board"`
	State      string     `json:"state"` // HEALTHY, CATCHING_UP or DEGRADED_REBUILDING
	Rebuilding bool       `json:"rebuilding"`
	Suspect    bool       `json:"suspect"` // true if Redis restarted and may hold an old state
	Epoch      int64      `json:"epoch"`
	Version    int64      `json:"version"`
	Members    int64      `json:"members"`
	Bytes      int64      `json:"bytes"`
	BuiltAt    *time.Time `json:"built_at,omitempty"`
	AsOf       *time.Time `json:"as_of,omitempty"`
	AgeMS      *int64     `json:"age_ms,omitempty"`
}

// JobRequest is the body of POST /v1/admin/rebuild, /verify and /reconcile. It selects
// one board or all. UserID applies to verify and reconcile, Repair to reconcile.
type JobRequest struct {
	Board  string `json:"board,omitempty"`
	All    bool   `json:"all,omitempty"`
	UserID string `json:"user_id,omitempty"`
	Repair bool   `json:"repair,omitempty"`
}

// JobLine is one line of the NDJSON that a job returns: its progress or, on the last
// line, its result or an error. The job stops if the client disconnects.
type JobLine struct {
	Type     string    `json:"type"` // progress, result or error
	Board    string    `json:"board,omitempty"`
	Users    int64     `json:"users,omitempty"`
	Records  int64     `json:"records,omitempty"` // records replayed so far
	Total    int64     `json:"total,omitempty"`   // number of users or records, if known
	Rebuilt  []Rebuilt `json:"rebuilt,omitempty"`
	Verified *Verified `json:"verified,omitempty"`
	Archived *Archived `json:"archived,omitempty"`
	Replayed *Replayed `json:"replayed,omitempty"`
	Error    *Error    `json:"error,omitempty"`
}

// ArchiveRequest is the body of POST /v1/admin/ledger/archive. A dry run only lists
// the partitions.
type ArchiveRequest struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// Archived lists the ledger partitions that were archived or, in a dry run, would be.
type Archived struct {
	Partitions []ArchivedPartition `json:"partitions"`
	DryRun     bool                `json:"dry_run,omitempty"`
	TookMS     int64               `json:"took_ms"`
}

// ArchivedPartition is an archived partition. In a dry run only its name and time range
// are set.
type ArchivedPartition struct {
	Partition string    `json:"partition"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Rows      int64     `json:"rows,omitempty"`
	File      string    `json:"file,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	SHA256    string    `json:"sha256,omitempty"`
}

// Rebuilt is the result of rebuilding one board.
type Rebuilt struct {
	Board  string `json:"board"`
	Epoch  int64  `json:"epoch"`
	Users  int64  `json:"users"`
	TookMS int64  `json:"took_ms"`
}

// Verified is the result of verify or reconcile.
type Verified struct {
	Users       int64        `json:"users"`
	Rows        int64        `json:"ledger_rows"`
	Wrong       int64        `json:"differences_total"`
	Repaired    int64        `json:"repaired"`
	Differences []Difference `json:"differences"` // the first 1,000 differences
	TookMS      int64        `json:"took_ms"`
}

// Difference is one difference between ledger, score and ranking.
type Difference struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ReplayRequest is the body of POST /v1/admin/replay: replay from an offset of a
// partition, from a time, or the dead letters. A dry run only counts.
type ReplayRequest struct {
	FromOffset *int64     `json:"from_offset,omitempty"`
	FromTime   *time.Time `json:"from_time,omitempty"`
	DLQ        bool       `json:"dlq,omitempty"`
	Topic      string     `json:"topic,omitempty"`
	Partition  *int       `json:"partition,omitempty"`
	DryRun     bool       `json:"dry_run,omitempty"`
}

// Replayed is the result of a replay or, if DryRun is set, what it would change.
type Replayed struct {
	Topic      string `json:"topic,omitempty"`
	DryRun     bool   `json:"dry_run"`
	Records    int64  `json:"records"`
	Changed    int64  `json:"changed"`    // changes applied to the ranking, or dead letters requeued
	Unchanged  int64  `json:"unchanged"`  // changes that the ranking already had, or newer ones
	Unreadable int64  `json:"unreadable"` // malformed records, which are skipped
	TooNew     int64  `json:"too_new"`    // records that a newer build wrote
	TooOld     int64  `json:"too_old"`    // changes too old for repeats of them to be recognised
	NotHeld    int64  `json:"not_held"`   // changes to boards without a ranking
	TookMS     int64  `json:"took_ms"`
}
