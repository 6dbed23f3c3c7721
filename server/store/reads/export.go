package reads

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sqlExport ranks the scores themselves, not the standings, which may be behind. They are
// sorted once: no index of scores has their order.
const sqlExport = `select row_number() over (order by order_key, sub_key, reached_at, user_id), user_id, score,
    reached_at,
    case when metadata_version = version and (select metadata from boards where board_id = $1) is not null then metadata
    else '' end, subscore
from scores where board_id = $1 and not hidden order by order_key, sub_key, reached_at, user_id`

// exportChunk is how many standings are in memory at once.
const exportChunk = 5_000

// Export calls do with all standings of a board, best first, in chunks from one snapshot.
// The snapshot is open until do has had the last chunk; the caller bounds that time.
func (r *Reads) Export(
	ctx context.Context, board *scoreboard.Board, do func([]scoreboard.FinalStanding) error,
) error {
	var last scoreboard.Entry
	scan := func(row pgx.CollectableRow) (s scoreboard.FinalStanding, err error) {
		err = row.Scan(&s.Ordinal, &s.User, &s.Score, &s.ReachedAt, &s.Metadata, &s.Subscore)
		s.ReachedAt, s.Rank = s.ReachedAt.UTC(), s.Ordinal
		if board.SharesRanks() && s.Ordinal > 1 && s.Pair() == last.Pair() {
			s.Rank = last.Rank
		}
		last = s.Entry
		return s, err
	}
	if err := pg.InChunks(ctx, r.db, "export", exportChunk, scan, do, sqlExport, board.ID); err != nil {
		return pg.Translate(fmt.Errorf("export board %s: %w", board.ID, err))
	}
	return nil
}
