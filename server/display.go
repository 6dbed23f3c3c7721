package server

import (
	"context"

	"github.com/scoreboard/scoreboard/server/privacy"
	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// display is how rows are shown to everyone: hidden users under pseudonyms, others with their
// profiles. It implements leaderboard.Display.
type display struct {
	*privacy.List
	profiles *profile.Cache
}

// Show implements leaderboard.Display.
func (d display) Show(
	ctx context.Context, board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID,
) {
	d.Hide(board, rows, except)
	d.profiles.Show(ctx, rows)
}

// Name implements leaderboard.Display.
func (d display) Name(ctx context.Context, rows []scoreboard.Entry) { d.profiles.Show(ctx, rows) }

// Refresh implements leaderboard.Display.
func (d display) Refresh(
	board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID,
) []scoreboard.Entry {
	next := d.List.Refresh(board, rows, except)
	if len(rows) > 0 && &next[0] != &rows[0] {
		d.profiles.ShowKnown(next) // of those who are not hidden any more
	}
	return next
}

// show is Show for rows that everyone sees alike.
func (d display) show(ctx context.Context, board scoreboard.BoardID, rows []scoreboard.Entry) {
	d.Show(ctx, board, rows, "")
}

// showNotice shows the rows of a notice, without a wait for profiles.
func (d display) showNotice(n scoreboard.Notice) {
	if n.Top == nil {
		return
	}
	n.Top.Shown = d.Version()
	d.Hide(n.Board, n.Top.Entries, "")
	d.profiles.ShowKnown(n.Top.Entries)
}
