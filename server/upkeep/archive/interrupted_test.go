package archive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

// failing is a ledger whose calls fail at one step, before or after they took
// effect.
type failing struct {
	archive.Store
	at, step int
}

var errLost = errors.New("the process ended")

func (b *failing) fail() error {
	if b.step++; b.step == b.at {
		return errLost
	}
	return nil
}

func (b *failing) around(do func() error) error {
	if err := b.fail(); err != nil {
		return err
	}
	return errors.Join(do(), b.fail())
}

func (b *failing) ReadPartition(ctx context.Context, p scoreboard.Partition, size int, do func([]string) error) error {
	return b.around(func() error {
		return b.Store.ReadPartition(ctx, p, size, func(lines []string) error {
			return b.around(func() error { return do(lines) })
		})
	})
}

func (b *failing) DetachPartition(ctx context.Context, p scoreboard.Partition, rows int64) error {
	return b.around(func() error { return b.Store.DetachPartition(ctx, p, rows) })
}

func (b *failing) DropPartition(ctx context.Context, p scoreboard.Partition) error {
	return b.around(func() error { return b.Store.DropPartition(ctx, p) })
}

func TestArchiveInterruptedAtEveryStep(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		r := newRig(t)
		r.conn.Do(t, `create table copy as select * from `+r.leaf)
		_, err := r.archive(&failing{Store: r.Archive, at: at}, keep).ArchiveOld(t.Context())
		if err == nil {
			r.check(t, "copy")
			t.Logf("interrupted at %d steps", at-1)
			if at < 10 {
				t.Errorf("only %d steps failed", at-1)
			}
			return
		}
		if !errors.Is(err, errLost) {
			t.Fatalf("step %d: %v", at, err)
		}
		if _, err := r.archive(r.Archive, keep).ArchiveOld(t.Context()); err != nil {
			t.Fatalf("after a failure at step %d: %v", at, err)
		}
		r.check(t, "copy")
		if t.Failed() {
			t.Fatalf("interrupted at step %d", at)
		}
	}
}

// hooked calls before between writing an archive and detaching the partition.
type hooked struct {
	archive.Store
	before func()
}

func (h *hooked) DetachPartition(ctx context.Context, p scoreboard.Partition, rows int64) error {
	if do := h.before; do != nil {
		h.before = nil
		do()
	}
	return h.Store.DetachPartition(ctx, p, rows)
}

// Of two nodes one works on the storage. The other one does nothing meanwhile, nor does a second
// call in the same process.
func TestOneNodeArchivesAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := r.archive(r.Archive, keep)
	var first *archive.Archive
	begun := false
	first = r.archive(&hooked{Store: r.Archive, before: func() {
		begun = true
		for _, a := range []*archive.Archive{first, other} {
			if done, err := a.ArchiveOld(t.Context()); !errors.Is(err, upkeep.ErrLost) || len(done) > 0 {
				t.Errorf("while a node archives: got %+v, %v, want ErrLost", done, err)
			}
		}
	}}, keep)
	if done, err := first.ArchiveOld(t.Context()); err != nil || len(done) != 1 || !begun {
		t.Fatalf("got %+v, %v", done, err)
	}
	if done, err := other.ArchiveOld(t.Context()); err != nil || len(done) != 0 {
		t.Errorf("afterwards: got %+v, %v, want nothing left", done, err)
	}
}

func TestLateRowIsArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := &hooked{Store: r.Archive, before: func() {
		r.conn.Do(
			t,
			`insert into `+r.leaf+` (user_id, board_id, event_id, event_text, payload_hash, delta, applied,
    previous_score, new_score, version, recorded_at, client_timestamp, source)
select user_id, board_id, gen_random_uuid(), event_text, payload_hash, delta, applied, previous_score,
    new_score, version + 1, recorded_at, client_timestamp, source from `+r.leaf+` where version = $1`,
			oldRows,
		)
		r.conn.Do(t, `create table copy as select * from `+r.leaf)
	}}
	done, err := r.archive(h, keep).ArchiveOld(t.Context())
	if err != nil || len(done) != 1 || done[0].Rows != oldRows+1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	r.check(t, "copy")
}
