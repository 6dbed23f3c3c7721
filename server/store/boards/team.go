package boards

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// checkTeam checks the source of a new board of teams, and completes the board. It returns
// the rule of the board, a zero one for a board of users.
func checkTeam(ctx context.Context, tx pgx.Tx, b *scoreboard.Board) (scoreboard.TeamRule, error) {
	if b.Team == nil {
		return scoreboard.TeamRule{}, nil
	}
	source, err := pg.FindBoard(ctx, tx, b.Team.Source)
	if err != nil {
		return *b.Team, err
	}
	if err := b.Team.CheckSource(source); err != nil {
		return *b.Team, err
	}
	// One at a time counts them.
	_, err = tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('team boards', 0))`)
	if err != nil {
		return *b.Team, err
	}
	var boards int
	err = tx.QueryRow(ctx, `select count(*) from boards where source_board = $1 and status <> 'archived'`,
		b.Team.Source).Scan(&boards)
	if err != nil {
		return *b.Team, err
	}
	if boards >= scoreboard.MaxTeamBoards {
		return *b.Team, scoreboard.Errorf(wire.CodeConflict,
			"board %s is the source of %d boards, the maximum", b.Team.Source, boards)
	}
	b.Mode, b.Order = scoreboard.ModeLatest, source.Order
	b.MinDelta, b.MaxDelta = int64(pg.ImpossibleDelta), int64(pg.ImpossibleDelta)
	return *b.Team, nil
}
