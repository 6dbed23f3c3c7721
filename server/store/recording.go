package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// recording is one batch on its way through a transaction: what to ask, what
// was found under the locks, and what it comes to. It holds no connection, so
// the decision can be tested without a database.
type recording struct {
	items    []scoreboard.Increment
	hashes   [][16]byte
	outcomes []scoreboard.Outcome

	// what to ask, in the order of locking
	boardNames []string
	userNames  []string
	eventUsers []string // of every item
	eventIDs   [][16]byte
	pairs      pairs // every user with every board that the batch wants

	past past // what the users did lately, where a rule wants to know

	reached stage

	// what was found
	boards map[scoreboard.BoardID]*scoreboard.Board
	spans  map[scoreboard.BoardID][]*scoreboard.Board // the instances that are not over, for every family
	users  map[scoreboard.UserID]*userRow
	known  map[eventKey]*knownEvent
	scores map[scoreKey]*scoreRow

	rows   rows
	proofs proofs
	shards int
}

// stage says what a transaction is about to do, so that a time-out can be told
// from another.
type stage int

const (
	atBoards stage = iota
	atUsers
	atEvents
)

type (
	eventKey struct {
		user  scoreboard.UserID
		event [16]byte
	}
	scoreKey struct {
		user  scoreboard.UserID
		board scoreboard.BoardID
	}
	userRow struct {
		status  string
		time    time.Time // of everything this transaction records for the user
		created bool
		kept    bool // something was recorded, so a created row stays
	}
	knownEvent struct {
		hash     [16]byte
		receipts []scoreboard.Receipt
	}
	scoreRow struct {
		had      bool // what counts as a score; an emptied one does not
		hidden   bool
		score    scoreboard.Score
		version  int64
		revision int64
		reached  time.Time
		lastRow  int // index in rows of the user's last one on the board
	}
)

func newRecording(items []scoreboard.Increment, shards int) *recording {
	r := &recording{
		items: items, shards: shards,
		hashes:   make([][16]byte, len(items)),
		outcomes: make([]scoreboard.Outcome, len(items)),
		boards:   make(map[scoreboard.BoardID]*scoreboard.Board),
		spans:    make(map[scoreboard.BoardID][]*scoreboard.Board),
		users:    make(map[scoreboard.UserID]*userRow, len(items)),
		known:    make(map[eventKey]*knownEvent),
		scores:   make(map[scoreKey]*scoreRow, len(items)),
	}
	r.pairs.scores = r.scores
	boards := make(map[scoreboard.BoardID]bool)
	r.eventUsers = make([]string, len(items))
	r.eventIDs = make([][16]byte, len(items))
	for i := range items {
		in := &items[i]
		r.hashes[i] = in.PayloadHash()
		r.eventUsers[i] = string(in.User)
		r.eventIDs[i] = in.Event.UUID
		r.proofs.ask(in)
		if r.users[in.User] == nil {
			r.users[in.User] = &userRow{}
		}
		for _, board := range in.Boards {
			boards[board] = true
			r.pairs.want(in.User, board)
		}
	}
	r.userNames = sortedKeys(r.users)
	r.boardNames = sortedKeys(boards)
	return r
}

func (r *recording) readBoards(found pgx.Rows) error {
	var asked string
	err := forEach(found, func() error {
		b, err := scanBoard(found, &asked)
		switch name := scoreboard.BoardID(asked); {
		case err != nil:
		case b.IsFamily():
			r.boards[name] = &b
			r.spans[name] = nil
		case b.ID == name:
			r.boards[name] = &b
		default:
			r.spans[name] = append(r.spans[name], &b)
		}
		return err
	})
	if err == nil {
		r.reached = atUsers
	}
	return err
}

func (r *recording) readUsers(found pgx.Rows) error {
	var id, status string
	var at time.Time
	var created bool
	_, err := pgx.ForEachRow(found, []any{&id, &status, &at, &created}, func() error {
		u := r.users[scoreboard.UserID(id)]
		u.status, u.time, u.created = status, at.UTC(), created
		return nil
	})
	if err == nil {
		r.reached = atEvents
	}
	return err
}

func (r *recording) readKnown(found pgx.Rows) error {
	var n int64
	var hash []byte
	var receipt scoreboard.Receipt
	to := []any{
		&n, &receipt.Board, &hash, &receipt.Applied, &receipt.Previous, &receipt.NewScore, &receipt.Version, &receipt.RecordedAt,
		&receipt.Reversed,
	}
	_, err := pgx.ForEachRow(found, to, func() error {
		in := &r.items[n-1]
		k := eventKey{in.User, in.Event.UUID}
		e := r.known[k]
		if e == nil {
			e = &knownEvent{hash: [16]byte(hash)}
			r.known[k] = e
		}
		receipt.User, receipt.RecordedAt = in.User, receipt.RecordedAt.UTC()
		e.add(receipt)
		return nil
	})
	return err
}

// add keeps one receipt a board: two repeats in a batch find the same rows.
func (e *knownEvent) add(receipt scoreboard.Receipt) {
	for i := range e.receipts {
		if e.receipts[i].Board == receipt.Board {
			return
		}
	}
	e.receipts = append(e.receipts, receipt)
}

// pairs are users and boards whose scores are asked for.
type pairs struct {
	users, boards []string
	scores        map[scoreKey]*scoreRow
}

// want asks for a score that nobody has asked for.
func (p *pairs) want(user scoreboard.UserID, board scoreboard.BoardID) {
	k := scoreKey{user, board}
	if p.scores[k] == nil {
		p.scores[k] = &scoreRow{lastRow: -1}
		p.users, p.boards = append(p.users, string(user)), append(p.boards, string(board))
	}
}

func (p *pairs) read(found pgx.Rows) error {
	var n, version, revision int64
	var score scoreboard.Score
	var reached time.Time
	var hidden, empty bool
	_, err := pgx.ForEachRow(found, []any{&n, &score, &version, &revision, &reached, &hidden, &empty}, func() error {
		k := scoreKey{scoreboard.UserID(p.users[n-1]), scoreboard.BoardID(p.boards[n-1])}
		*p.scores[k] = scoreRow{
			had: !empty, hidden: hidden, score: score, version: version, revision: revision, reached: reached.UTC(), lastRow: -1,
		}
		return nil
	})
	return err
}

// strangers are the users that this transaction made for nothing: refused
// input leaves no row.
func (r *recording) strangers() []string {
	var names []string
	for id, u := range r.users {
		if u.created && !u.kept {
			names = append(names, string(id))
		}
	}
	return names
}
