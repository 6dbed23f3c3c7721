package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// Reads counts what statements have read of a table and its indexes.
type Reads struct {
	Scanned int64 // rows by sequential scans
	Indexed int64 // entries of indexes
}

// TableReads returns the reads of every table; partitions of the ledger and of the
// outbox count as one table each. Only closed connections have reported all their
// reads: close the store first.
func TableReads(t *testing.T, conn *backends.Conn) map[string]Reads {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn.Count(t, `select count(*) from pg_stat_activity where datname = current_database()`) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the store's connections are still open after 10 s")
		}
	}
	return ReadsNow(t, conn)
}

// ReadsNow is TableReads of what connections that were closed have reported.
func ReadsNow(t *testing.T, conn *backends.Conn) map[string]Reads {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select t.relname, t.seq_tup_read,
    coalesce((select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0)::bigint
from pg_stat_user_tables t`)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]Reads)
	var name string
	var scanned, indexed int64
	_, err = pgx.ForEachRow(rows, []any{&name, &scanned, &indexed}, func() error {
		for _, parent := range []string{"user_score_histories", "outbox_score_updates"} {
			if strings.HasPrefix(name, parent) {
				name = parent
			}
		}
		r := all[name]
		all[name] = Reads{r.Scanned + scanned, r.Indexed + indexed}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
