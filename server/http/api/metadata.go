package api

import (
	"context"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// metadata adds the metadata of standings to answers that are about to be sent, while the store
// answers. Messages of streams never pass here.
type metadata struct {
	reads Leaderboard
}

// shownMetadata is what a caller may see of the metadata of rows.
type shownMetadata struct {
	by    map[string]scoreboard.Described
	until time.Time // of a past moment; zero: now
}

// of reads what a caller may see of the metadata of rows, and of the user own, whom the caller may
// see entirely. Rows without an id of a user have none: their users are not looked up.
func (m *metadata) of(
	ctx context.Context, board *scoreboard.Board, rows []wire.Entry, own scoreboard.UserID, until time.Time,
) shownMetadata {
	d := shownMetadata{until: until}
	var users []scoreboard.UserID
	if board.Metadata == scoreboard.MetadataPublic {
		for i := range rows {
			if !rows[i].Private {
				users = append(users, scoreboard.UserID(rows[i].UserID))
			}
		}
	}
	if own != "" && !slices.Contains(users, own) {
		users = append(users, own)
	}
	if len(users) == 0 {
		return d
	}
	found, err := m.reads.MetadataOf(ctx, board.ID, users, own)
	if err != nil {
		return d // the answer is right without it
	}
	d.by = make(map[string]scoreboard.Described, len(found))
	for i := range found {
		d.by[string(found[i].User)] = found[i]
	}
	return d
}

// on returns the metadata of a user's standing with a score, "" if it has another one by now.
func (d *shownMetadata) on(user string, score int64) wire.Object {
	one, ok := d.by[user]
	if !ok || int64(one.Score) != score || !d.until.IsZero() && one.RecordedAt.After(d.until) {
		return ""
	}
	return wire.Object(one.Metadata)
}

// addToTop adds metadata to the rows of a page.
func (m *metadata) addToTop(ctx context.Context, board *scoreboard.Board, out *wire.Top, until time.Time) {
	if board.Metadata != scoreboard.MetadataPublic {
		return
	}
	found := m.of(ctx, board, out.Entries, "", until)
	for i := range out.Entries {
		e := &out.Entries[i]
		e.Metadata = found.on(e.UserID, e.Score)
	}
}

// addToPlace adds metadata to the standing of a user, for callers who may see it, and to the
// neighbours.
func (m *metadata) addToPlace(
	ctx context.Context, board *scoreboard.Board, out *wire.Place, caller *auth.Claims, until time.Time,
) {
	if !board.KeepsMetadata() {
		return
	}
	var own scoreboard.UserID
	if user := scoreboard.UserID(out.UserID); user == caller.User || actsForAll(caller) {
		own = user
	}
	rows := append(slices.Clone(out.Neighbours), wire.Entry{UserID: out.UserID, Private: out.Private})
	found := m.of(ctx, board, rows, own, until)
	out.Metadata = found.on(out.UserID, out.Score)
	for i := range out.Neighbours {
		e := &out.Neighbours[i]
		e.Metadata = found.on(e.UserID, e.Score)
	}
}

// addToList adds metadata to a list of users.
func (m *metadata) addToList(ctx context.Context, board *scoreboard.Board, out *wire.List) {
	if board.Metadata != scoreboard.MetadataPublic {
		return
	}
	rows := make([]wire.Entry, len(out.Entries))
	for i := range out.Entries {
		rows[i] = out.Entries[i].Entry
	}
	found := m.of(ctx, board, rows, "", time.Time{})
	for i := range out.Entries {
		e := &out.Entries[i].Entry
		e.Metadata = found.on(e.UserID, e.Score)
	}
}
