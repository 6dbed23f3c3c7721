package realtime

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Viewer is a client of a stream or a long poll: its identity as authenticated,
// and what it requested.
type Viewer struct {
	User    scoreboard.UserID // "" is anonymous and gets no rank of its own
	Address string
	Expires time.Time // the connection is closed then (4401); zero is never
	// CanSee rejects a board that the client may not see; nil allows all.
	CanSee func(ctx context.Context, board scoreboard.BoardID) error

	// Hold, unless nil, is called when the connection has opened, and when it has ended.
	// It may block.
	Hold func(open bool)

	Format *Format // of the messages; nil is the native one

	Board   scoreboard.BoardID
	Limit   int  // rows: 10 or 100; 0 is the server's default
	Friends bool // send the standings of the user's friends, where the format has them
	Cohort  bool // send those of the user's cohort, likewise
	Delta   bool // send differences where the format has them and the client has the base

	// The last state that the client has, 0 and 0 for none. It is sent nothing
	// while that is the current one, and nothing older.
	LastEpoch, LastVersion int64
}
