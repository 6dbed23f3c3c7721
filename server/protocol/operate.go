package protocol

import "time"

// Outbox answers GET /v1/admin/outbox.
type Outbox struct {
	Halted string        `json:"halted,omitempty"` // why publishing and ranking are halted
	Shards []OutboxShard `json:"shards"`
	// HorizonAgeMS is the age of the oldest open write transaction; nothing after it is
	// published.
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
	Depth       int64  `json:"depth"` // counted up to a million
	OldestAgeMS int64  `json:"oldest_age_ms"`
}

// DeadLetter is a record that could not be processed. Value is its bytes, base64 in
// JSON.
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

// DeadLetters answers GET /v1/admin/dead-letters: oldest first, without the values.
// NextAfter is the after of the next page.
type DeadLetters struct {
	Letters   []DeadLetter `json:"letters"`
	NextAfter int64        `json:"next_after,omitempty"`
}

// Condition answers GET /v1/admin/boards/{board}/ranking.
type Condition struct {
	Board      string     `json:"board"`
	State      string     `json:"state"` // HEALTHY, CATCHING_UP or DEGRADED_REBUILDING
	Rebuilding bool       `json:"rebuilding"`
	Suspect    bool       `json:"suspect"`
	Epoch      int64      `json:"epoch"`
	Version    int64      `json:"version"`
	Members    int64      `json:"members"`
	Bytes      int64      `json:"bytes"`
	BuiltAt    *time.Time `json:"built_at,omitempty"`
	AsOf       *time.Time `json:"as_of,omitempty"`
	AgeMS      *int64     `json:"age_ms,omitempty"`
}

// JobRequest is the body of POST /v1/admin/rebuild, /verify and /reconcile, for one
// board or for all. UserID applies to verify and reconcile, Repair to reconcile.
type JobRequest struct {
	Board  string `json:"board,omitempty"`
	All    bool   `json:"all,omitempty"`
	UserID string `json:"user_id,omitempty"`
	Repair bool   `json:"repair,omitempty"`
}

// JobLine is one line of a job's answer, which is NDJSON: progress, and as the last
// line a result or an error. A client that disconnects interrupts the job.
type JobLine struct {
	Type     string    `json:"type"` // progress, result or error
	Board    string    `json:"board,omitempty"`
	Users    int64     `json:"users,omitempty"`
	Records  int64     `json:"records,omitempty"` // of a replay
	Total    int64     `json:"total,omitempty"`   // users or records, if known
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

// Archived lists the partitions of the ledger that were, or in a dry run would be,
// archived.
type Archived struct {
	Partitions []ArchivedPartition `json:"partitions"`
	DryRun     bool                `json:"dry_run,omitempty"`
	TookMS     int64               `json:"took_ms"`
}

// ArchivedPartition is one of them; a dry run sets only its name and time range.
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

// Verified is the result of a comparison.
type Verified struct {
	Users       int64        `json:"users"`
	Rows        int64        `json:"ledger_rows"`
	Wrong       int64        `json:"differences_total"`
	Repaired    int64        `json:"repaired"`
	Differences []Difference `json:"differences"` // the first thousand
	TookMS      int64        `json:"took_ms"`
}

// Difference is one inconsistency.
type Difference struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ReplayRequest is the body of POST /v1/admin/replay: from an offset of a partition,
// from a time, or the dead letters. A dry run only counts.
type ReplayRequest struct {
	FromOffset *int64     `json:"from_offset,omitempty"`
	FromTime   *time.Time `json:"from_time,omitempty"`
	DLQ        bool       `json:"dlq,omitempty"`
	Topic      string     `json:"topic,omitempty"`
	Partition  *int       `json:"partition,omitempty"`
	DryRun     bool       `json:"dry_run,omitempty"`
}

// Replayed is the result of a replay; of a dry run, what it would change.
type Replayed struct {
	Topic      string `json:"topic,omitempty"`
	DryRun     bool   `json:"dry_run"`
	Records    int64  `json:"records"`
	Changed    int64  `json:"changed"`    // changes applied to the ranking, or dead letters requeued
	Unchanged  int64  `json:"unchanged"`  // the ranking had the change, or a newer one
	Unreadable int64  `json:"unreadable"` // malformed records, which are skipped
	TooNew     int64  `json:"too_new"`    // of a newer build
	TooOld     int64  `json:"too_old"`    // older than the repeats that can be recognized
	NotHeld    int64  `json:"not_held"`   // of boards without a ranking
	TookMS     int64  `json:"took_ms"`
}
