package realtime

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Changes is where the states of boards come from.
type Changes interface {
	// Top returns the current head of a board, degraded or not; a family
	// means its current instance. An unknown board is a not_found.
	Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error)
	// Place returns one user's standing, a not_found where there is none.
	Place(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.Place, error)
}

// Options are the settings of a hub. A duration or size of 0 takes its default;
// for the limits at the end 0 is off.
type Options struct {
	Window          time.Duration // at most one frame a window; 200 ms
	MaxWindow       time.Duration // what the window widens to when behind; 1 s
	Lag             time.Duration // behind this, the window widens; 1 s
	FramesPerMinute int           // to one connection; 600, which is 10 in any second
	Ping            time.Duration // also of SSE comments; 30 s
	PongWait        time.Duration // silence after which a connection is dropped; 60 s
	SlowAfter       time.Duration // a write stalled so long closes the connection; 10 s
	CheckEvery      time.Duration // a board is read again after hearing nothing so long; 1 s
	Linger          time.Duration // a board without subscribers is kept so long; 1 min
	Boards          int           // subscriptions of one connection; 10
	RankLookups     int           // reads of users' ranks a second; 500
	Rows            int           // of a board, for who does not say how many; 10

	DrainPercent    int           // of the connections closed each DrainEvery; 2
	DrainEvery      time.Duration // 100 ms
	ReconnectWithin time.Duration // reconnect_after_ms is random below it; 2 s

	Off                   bool          // no connections: clients ask again and again instead
	Lifetime              time.Duration // connections end after 0.75 to 1.25 of it
	ConnectionsPerUser    int
	ConnectionsPerAddress int
	ConnectionsPerNode    int
	JoinsPerSecond        int
}

func (o *Options) setDefaults() {
	durations := []struct {
		knob *time.Duration
		def  time.Duration
	}{
		{&o.Window, 200 * time.Millisecond},
		{&o.MaxWindow, time.Second},
		{&o.Lag, time.Second},
		{&o.Ping, 30 * time.Second},
		{&o.PongWait, time.Minute},
		{&o.SlowAfter, 10 * time.Second},
		{&o.CheckEvery, time.Second},
		{&o.Linger, time.Minute},
		{&o.DrainEvery, 100 * time.Millisecond},
		{&o.ReconnectWithin, 2 * time.Second},
	}
	for _, d := range durations {
		if *d.knob <= 0 {
			*d.knob = d.def
		}
	}
	sizes := []struct {
		knob *int
		def  int
	}{
		{&o.FramesPerMinute, 600},
		{&o.Boards, scoreboard.MaxBoards},
		{&o.RankLookups, 500},
		{&o.Rows, 10},
		{&o.DrainPercent, 2},
	}
	for _, s := range sizes {
		if *s.knob <= 0 {
			*s.knob = s.def
		}
	}
	o.MaxWindow = max(o.MaxWindow, o.Window)
}

// Viewer is who watches, as the join was authenticated.
type Viewer struct {
	User    scoreboard.UserID // "" watches without a rank of its own
	Address string
	Expires time.Time // the connection ends with it (4401); zero is never
	// CanSee refuses a board that the viewer may not watch; nil allows all.
	CanSee func(ctx context.Context, board scoreboard.BoardID) error
}

// Join is what a connection asks for when it comes.
type Join struct {
	Board scoreboard.BoardID
	Limit int  // rows: 10, or 100; 0 is as many as Options.Rows says
	Delta bool // send leaderboard.delta where the client has the base

	// The last state that the client has, 0 and 0 for none. It is sent
	// nothing while that is the current one, and nothing older.
	LastEpoch, LastVersion int64
}
