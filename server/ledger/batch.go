package ledger

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Batch is a batch of increments during one transaction: the reads that it needs,
// what they returned under the locks, and the resulting outcomes and rows.
type Batch struct {
	Items    []scoreboard.Increment
	Internal bool       // the source of Items: they are all corrections or all a client's
	Hashes   [][16]byte // of the payloads of Items
	Outcomes []scoreboard.Outcome
	// ImportID is the import that Items belong to, whose order they have; 0 for none. What
	// it has written already is not among the known events.
	ImportID int64
	// Computed says that Items set scores of teams, which nothing else may. None is a repeat.
	Computed bool

	// What to read, in the order of locking.
	BoardNames []string
	UserNames  []string
	EventUsers []string // one for each item
	EventIDs   [][16]byte
	Scores     ScorePairs // every user with every board that the batch names
	Players    PlayerPairs
	Tokens     ActionTokens
	Activity   RecentActivity
	// KeyIDs are the keys of increments that were accepted for later: such a key may have
	// been revoked since.
	KeyIDs []string

	Rows  Rows  // to write
	Joins Joins // likewise

	// What was read.
	boards    map[scoreboard.BoardID]*scoreboard.Board
	instances map[scoreboard.BoardID][]*scoreboard.Board // of each family; those that have not ended
	users     map[scoreboard.UserID]*user
	known     map[EventKey]*knownEvent
	scores    map[ScoreKey]*Score
	players   map[ScoreKey]bool // of Players: who have joined

	revoked map[string]bool // of KeyIDs

	shards  int
	byRules bool // an item counts on the boards whose rule matches it
}

// EventKey identifies an event: ids are unique for each user, those of internal events
// apart from those that clients choose.
type EventKey struct {
	User     scoreboard.UserID
	Event    [16]byte
	Internal bool
}

func keyOf(in *scoreboard.Increment) EventKey {
	return EventKey{in.User, in.Event.UUID, in.Source.Internal()}
}

// ScoreKey identifies a score.
type ScoreKey struct {
	User  scoreboard.UserID
	Board scoreboard.BoardID
}

type user struct {
	status  string
	private bool
	time    time.Time // of everything that this transaction records for the user
	clock   time.Time // the database's, under the lock; before time if the clock went back
	created bool      // by this transaction
	used    bool      // a row was recorded, so a created user stays
}

// now is the database's clock, or the user's time if that is a moment earlier: it was
// read before.
func (u *user) now() time.Time {
	if u.clock.Before(u.time) {
		return u.clock
	}
	return u.time
}

// hidden reports whether nobody may see the user's scores.
func (u *user) hidden() bool { return u.private || u.status == scoreboard.UserBanned }

// knownEvent is an event that is already in the ledger, or decided in this batch.
type knownEvent struct {
	hash     [16]byte
	receipts []scoreboard.Receipt
}

// Score is a user's score on a board, as read or as changed by the batch.
type Score struct {
	Exists    bool // false before the first event, and after all events are reversed
	Hidden    bool
	Value     scoreboard.Score
	Subscore  scoreboard.Score // 0 on a board without subscores
	Version   int64
	Revision  int64
	ReachedAt time.Time
	// ActionUntil is when the user's last action on the board ended at the earliest;
	// zero for none with a minimum duration.
	ActionUntil time.Time
	// Metadata is that of the submission that made the score.
	Metadata scoreboard.Metadata

	// Uncounted is how many of the Version rows are no attempts: rows of corrections and
	// imports, and events of clients that are reversed.
	Uncounted int64

	discounted int64 // by how much the batch has changed Uncounted
	lastRow    int   // index in Rows of the user's last row on the board; -1: none
}

// NewBatch prepares the reads for items, of which either all or none have an internal
// source. A nil policy checks nothing beyond the
// boards' own rules. Shards is the number of outbox shards.
func NewBatch(items []scoreboard.Increment, shards int, policy *scoreboard.IngestPolicy) *Batch {
	b := &Batch{
		Items: items, shards: shards,
		Hashes:    make([][16]byte, len(items)),
		Outcomes:  make([]scoreboard.Outcome, len(items)),
		Activity:  newRecentActivity(policy, items),
		boards:    make(map[scoreboard.BoardID]*scoreboard.Board),
		instances: make(map[scoreboard.BoardID][]*scoreboard.Board),
		users:     make(map[scoreboard.UserID]*user, len(items)),
		known:     make(map[EventKey]*knownEvent),
		scores:    make(map[ScoreKey]*Score, len(items)),
	}
	b.Scores.scores = b.scores
	b.Internal = len(items) > 0 && items[0].Source.Internal()
	boards := make(map[scoreboard.BoardID]bool)
	b.EventUsers = make([]string, len(items))
	b.EventIDs = make([][16]byte, len(items))
	for i := range items {
		in := &items[i]
		b.Hashes[i] = in.PayloadHash()
		b.EventUsers[i] = string(in.User)
		b.EventIDs[i] = in.Event.UUID
		b.Tokens.want(in)
		b.KeyIDs = addAcceptedKey(b.KeyIDs, in)
		if b.users[in.User] == nil {
			b.users[in.User] = &user{}
		}
		if in.ByRules {
			b.byRules = true
			boards[scoreboard.GlobalBoard] = true // it has the version of the rules
		}
		for _, board := range in.Targets() {
			boards[board] = true
			b.Scores.want(in.User, board)
		}
	}
	b.UserNames = sortedKeys(b.users)
	b.BoardNames = sortedKeys(boards)
	return b
}

// addAcceptedKey adds the key of an increment that was accepted for later, unless keys
// has it.
func addAcceptedKey(keys []string, in *scoreboard.Increment) []string {
	if in.Accepted.IsZero() || in.KeyID == "" || slices.Contains(keys, in.KeyID) {
		return keys
	}
	return append(keys, in.KeyID)
}

// AddBoard adds a board that was found under one of BoardNames: the board of
// that name, or an instance of the family of that name. The family comes first.
func (b *Batch) AddBoard(name scoreboard.BoardID, board *scoreboard.Board) {
	switch {
	case board.IsFamily():
		b.boards[name] = board
		b.instances[name] = nil
	case board.ID == name:
		b.boards[name] = board
	default:
		b.instances[name] = append(b.instances[name], board)
	}
}

// RulesChanged reports whether the rules of boards are not those of a version any more, by
// which the boards of items were chosen.
func (b *Batch) RulesChanged(version int64) bool {
	board := b.boards[scoreboard.GlobalBoard]
	return b.byRules && board != nil && board.RulesVersion != version
}

// AddRevoked adds one of KeyIDs that is revoked.
func (b *Batch) AddRevoked(key string) {
	if b.revoked == nil {
		b.revoked = make(map[string]bool)
	}
	b.revoked[key] = true
}

// LockedUser is a user whose row is locked until the transaction ends.
type LockedUser struct {
	User    scoreboard.UserID
	Status  string
	Private bool      // has left all boards: what is recorded is hidden
	Time    time.Time // of what is recorded for the user; it never goes back
	Clock   time.Time // the database's, which may go back
	Created bool      // by this transaction
}

// AddUser adds a locked user.
func (b *Batch) AddUser(l *LockedUser) {
	u := b.users[l.User]
	u.status, u.private, u.created = l.Status, l.Private, l.Created
	u.time, u.clock = l.Time.UTC(), l.Clock.UTC()
}

// AddKnown adds a receipt that the ledger holds for the event of item i.
func (b *Batch) AddKnown(i int, hash [16]byte, receipt scoreboard.Receipt) {
	in := &b.Items[i]
	k := keyOf(in)
	e := b.known[k]
	if e == nil {
		e = &knownEvent{hash: hash}
		b.known[k] = e
	}
	receipt.User, receipt.RecordedAt = in.User, receipt.RecordedAt.UTC()
	e.add(receipt)
}

// add keeps one receipt for each board: two repeats in a batch find the same rows.
func (e *knownEvent) add(receipt scoreboard.Receipt) {
	for i := range e.receipts {
		if e.receipts[i].Board == receipt.Board {
			return
		}
	}
	e.receipts = append(e.receipts, receipt)
}

// pair is the score with the subscore.
func (s *Score) pair() scoreboard.Pair { return scoreboard.Pair{Score: s.Value, Subscore: s.Subscore} }

// attempts is how many events of the user on the board are recorded and not reversed.
func (s *Score) attempts() int64 { return s.Version - s.Uncounted }

// ScorePairs are the pairs of user and board whose scores are read.
type ScorePairs struct {
	Users, Boards []string
	scores        map[ScoreKey]*Score
}

// want adds a pair unless it is present, and reports whether it did.
func (p *ScorePairs) want(user scoreboard.UserID, board scoreboard.BoardID) bool {
	k := ScoreKey{user, board}
	if p.scores[k] != nil {
		return false
	}
	p.scores[k] = &Score{lastRow: -1}
	p.Users, p.Boards = append(p.Users, string(user)), append(p.Boards, string(board))
	return true
}

// Set stores the score of pair i.
func (p *ScorePairs) Set(i int, s Score) {
	s.lastRow = -1
	*p.scores[ScoreKey{scoreboard.UserID(p.Users[i]), scoreboard.BoardID(p.Boards[i])}] = s
}

// UnusedUsers are the users that this transaction created without recording
// anything for them: rejected input leaves no row.
func (b *Batch) UnusedUsers() []string {
	var names []string
	for id, u := range b.users {
		if u.created && !u.used {
			names = append(names, string(id))
		}
	}
	return names
}

// Shard returns the user's shard of the outbox. It is stable for a user, so that
// the rows of one user are relayed in order by one owner.
func Shard(user scoreboard.UserID, shards int) int16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash never fails
	return int16(h.Sum32() % uint32(shards))
}

// sortedKeys returns the keys of m in byte order, the order of locking.
func sortedKeys[K ~string, V any](m map[K]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	return keys
}
