package display

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Display is how rows are shown to everyone: hidden users under pseudonyms, others with their
// profiles. It implements leaderboard.Display.
type Display struct {
	*Hidden
	Profiles *Profiles
}

// Show implements leaderboard.Display.
func (d Display) Show(
	ctx context.Context, board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID,
) {
	d.Hidden.Hide(board, rows, except)
	d.Profiles.Show(ctx, rows)
}

// Name implements leaderboard.Display.
func (d Display) Name(ctx context.Context, rows []scoreboard.Entry) { d.Profiles.Show(ctx, rows) }

// Refresh implements leaderboard.Display.
func (d Display) Refresh(
	board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID,
) []scoreboard.Entry {
	next := d.Hidden.Refresh(board, rows, except)
	if len(rows) > 0 && &next[0] != &rows[0] {
		d.Profiles.ShowKnown(next) // of those who are not hidden any more
	}
	return next
}

// ShowEveryone is Show for rows that everyone sees alike.
func (d Display) ShowEveryone(ctx context.Context, board scoreboard.BoardID, rows []scoreboard.Entry) {
	d.Show(ctx, board, rows, "")
}

// ShowNotice shows the rows of a notice, without a wait for profiles.
func (d Display) ShowNotice(n scoreboard.Notice) {
	if n.Top == nil {
		return
	}
	n.Top.Shown = d.Version()
	d.Hidden.Hide(n.Board, n.Top.Entries, "")
	d.Profiles.ShowKnown(n.Top.Entries)
}
