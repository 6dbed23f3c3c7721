package server

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/leaderboard"
	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What stands here makes one station look the way another asks for it.

// changes is the reads as the hub sees them.
type changes struct{ reads *leaderboard.Leaderboard }

func (c changes) Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error) {
	return c.reads.Read(ctx, board)
}

func (c changes) Place(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.Place, error) {
	return c.reads.Find(ctx, board, user)
}

// bus is where notices come from.
type bus interface {
	Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error
}

// follower carries notices to who must know.
type follower struct {
	from bus
	tell []func(scoreboard.Notice)
	log  *slog.Logger
}

func (f follower) Run(ctx context.Context) error {
	return f.from.Follow(ctx, func(n scoreboard.Notice) {
		for _, tell := range f.tell {
			tell(n)
		}
	}, func(err error) { f.log.Warn("notice skipped", "err", err) })
}

// live is the hub as the API sees it.
type live struct{ hub *realtime.Hub }

func (l live) Serve(w http.ResponseWriter, r *http.Request, v api.Viewer) error {
	switch {
	case websocket.IsWebSocketUpgrade(r):
		return l.hub.ServeWebSocket(w, r, viewerOf(v), joinOf(v))
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		return l.hub.ServeSSE(w, r, viewerOf(v), joinOf(v))
	}
	return scoreboard.Invalid("", "this is for WebSockets, or for Accept: text/event-stream")
}

func (l live) Refuse(w http.ResponseWriter, r *http.Request, err error) error {
	return realtime.Refuse(w, r, err)
}

func (l live) Wait(ctx context.Context, v api.Viewer) error {
	return l.hub.Wait(ctx, viewerOf(v), joinOf(v))
}

func viewerOf(v api.Viewer) realtime.Viewer {
	return realtime.Viewer{User: v.User, Address: v.Address, Expires: v.Expires, CanSee: v.CanSee}
}

// joinOf reads the last id that the viewer has; one that is not an id of ours
// is as none.
func joinOf(v api.Viewer) realtime.Join {
	j := realtime.Join{Board: v.Board, Limit: v.Limit, Delta: v.Delta}
	epoch, version, _ := strings.Cut(v.Last, ":")
	e, err1 := strconv.ParseInt(epoch, 10, 64)
	n, err2 := strconv.ParseInt(version, 10, 64)
	if err1 == nil && err2 == nil {
		j.LastEpoch, j.LastVersion = e, n
	}
	return j
}

// named puts the names that are known here beside the rows of a notice.
func named(book *profile.Book) func(scoreboard.Notice) {
	return func(n scoreboard.Notice) {
		if n.Top != nil {
			book.ShowKnown(n.Top.Entries)
		}
	}
}
