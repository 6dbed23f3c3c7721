package protocol

import "time"

// Outbox answers GET /v1/admin/outbox.
type Outbox struct {
	Halted       string        `json:"halted,omitempty"` // why nothing is published or ranked
	Shards       []OutboxShard `json:"shards"`
	HorizonAgeMS int64         `json:"horizon_age_ms"` // of the oldest writing transaction: nothing behind it is published
	Partitions   []string      `json:"partitions"`
}

// OutboxShard is one shard: who relays it, and what waits.
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

// DeadLetter is what could not be carried. Value is its bytes, base64 in JSON.
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

// DeadLetters answers GET /v1/admin/dead-letters: without the values, oldest
// first. NextAfter is the after of the next page.
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

// JobRequest is the body of POST /v1/admin/rebuild, /verify and /reconcile: of
// one board, or of all. UserID is for verify and reconcile, Repair for
// reconcile.
type JobRequest struct {
	Board  string `json:"board,omitempty"`
	All    bool   `json:"all,omitempty"`
	UserID string `json:"user_id,omitempty"`
	Repair bool   `json:"repair,omitempty"`
}

// JobLine is one line of a job's answer, which is NDJSON: progress, and at the
// end a result or an error. Who goes away interrupts the job.
type JobLine struct {
	Type     string    `json:"type"` // progress, result or error
	Board    string    `json:"board,omitempty"`
	Users    int64     `json:"users,omitempty"`
	Records  int64     `json:"records,omitempty"` // of a replay
	Total    int64     `json:"total,omitempty"`   // users or records to come to, where it is known
	Rebuilt  []Rebuilt `json:"rebuilt,omitempty"`
	Verified *Verified `json:"verified,omitempty"`
	Archived *Archived `json:"archived,omitempty"`
	Replayed *Replayed `json:"replayed,omitempty"`
	Error    *Error    `json:"error,omitempty"`
}

// ArchiveRequest is the body of POST /v1/admin/ledger/archive. A dry run lists
// what would be archived.
type ArchiveRequest struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// Archived says which partitions of the ledger went, or would go, into files.
type Archived struct {
	Partitions []ArchivedPartition `json:"partitions"`
	DryRun     bool                `json:"dry_run,omitempty"`
	TookMS     int64               `json:"took_ms"`
}

// ArchivedPartition is one of them. A dry run knows its name and span only.
type ArchivedPartition struct {
	Partition string    `json:"partition"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Rows      int64     `json:"rows,omitempty"`
	File      string    `json:"file,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	SHA256    string    `json:"sha256,omitempty"`
}

// Rebuilt says what a rebuild did.
type Rebuilt struct {
	Board  string `json:"board"`
	Epoch  int64  `json:"epoch"`
	Users  int64  `json:"users"`
	TookMS int64  `json:"took_ms"`
}

// Verified says what was compared and what is wrong.
type Verified struct {
	Users       int64        `json:"users"`
	Rows        int64        `json:"ledger_rows"`
	Wrong       int64        `json:"differences_total"`
	Repaired    int64        `json:"repaired"`
	Differences []Difference `json:"differences"` // the first thousand
	TookMS      int64        `json:"took_ms"`
}

// Difference is one thing that should not be.
type Difference struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ReplayRequest is the body of POST /v1/admin/replay: from an offset of a
// partition, or from a time, or the dead letters. A dry run only counts.
type ReplayRequest struct {
	FromOffset *int64     `json:"from_offset,omitempty"`
	FromTime   *time.Time `json:"from_time,omitempty"`
	DLQ        bool       `json:"dlq,omitempty"`
	Topic      string     `json:"topic,omitempty"`
	Partition  *int       `json:"partition,omitempty"`
	DryRun     bool       `json:"dry_run,omitempty"`
}

// Replayed says what a replay has changed, or a dry run would have.
type Replayed struct {
	Topic      string `json:"topic,omitempty"`
	DryRun     bool   `json:"dry_run"`
	Records    int64  `json:"records"`
	Changed    int64  `json:"changed"`    // users' changes that the ranking did not have; letters put into the outbox
	Unchanged  int64  `json:"unchanged"`  // it had them, or something newer
	Unreadable int64  `json:"unreadable"` // malformed: they stay where they are
	TooNew     int64  `json:"too_new"`    // of a later build
	TooOld     int64  `json:"too_old"`    // from before repeats are known
	NotHeld    int64  `json:"not_held"`   // of boards that the ranking does not hold
	TookMS     int64  `json:"took_ms"`
}
