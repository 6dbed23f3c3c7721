package pg

import (
	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// LedgerColumns are the columns that ScanLedger reads, of user_score_histories as h. Of boards that
// keep no metadata any more, there is none.
const LedgerColumns = `event_id, coalesce(event_text, ''), board_id, delta, previous_score, new_score, version,
recorded_at,
    coalesce(action, ''), coalesce(key_id, ''), coalesce(address, ''), coalesce(user_agent, ''),
    source = 'admin', coalesce(case when h.metadata is not null then (
        select h.metadata from boards as b where b.board_id = h.board_id and b.metadata is not null) end, ''),
    coalesce(h.subscore, 0), coalesce(h.new_subscore, 0)`

// ScanLedger scans a row of the ledger.
func ScanLedger(row pgx.CollectableRow) (r scoreboard.LedgerRow, err error) {
	var internal bool
	err = row.Scan(&r.Event.UUID, &r.Event.Text, &r.Board, &r.Delta, &r.Previous, &r.Score, &r.Version, &r.RecordedAt,
		&r.Action, &r.KeyID, &r.Address, &r.Agent, &internal, &r.Metadata,
		&r.Subscore, &r.NewSubscore)
	r.Kind = scoreboard.KindOf(internal, r.Action)
	if r.Event.Text == "" {
		r.Event.Text = scoreboard.FormatUUID(r.Event.UUID)
	}
	r.RecordedAt = r.RecordedAt.UTC()
	return r, err
}
