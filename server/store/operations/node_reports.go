package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// NodeReports stores the last report of each node.
type NodeReports struct{ db *pg.DB }

// NewNodeReports returns the reports in db.
func NewNodeReports(db *pg.DB) *NodeReports { return &NodeReports{db} }

// reportTTL is how long a report is kept. Nobody acts on one that is this old.
const reportTTL = time.Minute

// Exchange stores a node's report, unless it is nil, and returns those of all nodes.
func (n *NodeReports) Exchange(
	ctx context.Context, own *scoreboard.NodeReport,
) (all []scoreboard.NodeReport, err error) {
	var b pgx.Batch
	if own != nil {
		b.Queue(`insert into node_reports (node, roles, reaches, sequence, reported_at)
values ($1, $2, $3, $4, clock_timestamp())
on conflict (node) do update set roles = excluded.roles, reaches = excluded.reaches, sequence = excluded.sequence,
    reported_at = excluded.reported_at`, own.Node, own.Roles, own.Reaches, own.Sequence)
		b.Queue(`delete from node_reports where node in (
    select node from node_reports
    where reported_at not between clock_timestamp() - $1::interval and clock_timestamp() + $1::interval
    for update skip locked)`, reportTTL)
	}
	b.Queue(`select node, roles, reaches, sequence from node_reports order by node`).Query(func(rows pgx.Rows) error {
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scoreboard.NodeReport])
		return err
	})
	if err := n.db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, pg.Translate(fmt.Errorf("exchange reports of nodes: %w", err))
	}
	return all, nil
}
