package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

func TestArchiveLedger(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := filepath.Join(t.TempDir(), "archive")
	bare := h.start()
	_, err := h.client(bare, "admin", "score:admin").ArchiveLedger(t.Context(), false)
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != wire.CodeConflict {
		t.Errorf("without a folder: got %v, want a conflict", err)
	}
	if err := bare.stop(); err != nil {
		t.Fatal(err)
	}

	c := h.client(h.start("--ledger-archive", dir), "admin", "score:admin")
	h.exec(`select create_ledger_partition('2020-01-01Z', '2020-02-01Z')`)
	h.exec(
		`insert into user_score_histories
		(user_id, board_id, event_id, payload_hash, delta, applied, new_score, version, recorded_at, source)
select 'old', 'global', gen_random_uuid(), '\x00', 1, 1, n, n, '2020-01-15Z', 'api' from generate_series(1, 10) as n`,
	)
	dry, err := c.ArchiveLedger(t.Context(), true)
	if err != nil || len(dry.Partitions) != 1 || !dry.DryRun ||
		h.sql(`select count(*) from user_score_histories`) != 10 {
		t.Fatalf("dry run: got %+v, %v", dry, err)
	}
	done, err := c.ArchiveLedger(t.Context(), false)
	if err != nil || len(done.Partitions) != 1 || done.Partitions[0].Rows != 10 || done.DryRun {
		t.Fatalf("got %+v, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(dir, done.Partitions[0].File)); err != nil {
		t.Error(err)
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != 0 {
		t.Errorf("%d rows remain", n)
	}
}
