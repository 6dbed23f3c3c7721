package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

// A what-if names events as clients sent them, and is applied only with its own digest, and not
// on a board that has ended: nothing is voided otherwise.
func TestWhatIfIsNotApplied(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	since := time.Now().Add(-time.Minute)
	for _, name := range []string{"match-8841", "match-8842"} {
		event, err := scoreboard.ParseEventID("mallory", name)
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := s.Increments.Record(t.Context(), []scoreboard.Increment{{
			User: "mallory", Delta: 900, Event: event, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
			Source: scoreboard.SourceAPI,
		}})
		if err != nil || outcomes[0].Err != nil {
			t.Fatal(err, outcomes[0].Err)
		}
	}
	board := scoreboard.Board{
		ID: scoreboard.GlobalBoard, Family: scoreboard.GlobalBoard, Mode: scoreboard.ModeIncrement,
		Order: scoreboard.OrderHighest, Status: scoreboard.StatusActive, MinScore: -scoreboard.MaxScore,
		MaxScore: scoreboard.MaxScore, MaxDelta: 1000, Created: since,
	}
	w := admin.WhatIf{PastBoards: s.PastBoards, Corrections: s.Corrections}
	maxDelta := int64(500)
	ask := func() *scoreboard.WhatIf {
		return &scoreboard.WhatIf{Since: since, Rules: scoreboard.WhatIfRules{MaxDelta: &maxDelta}, Limit: 10}
	}
	r, err := w.WhatIf(t.Context(), &board, ask(), func(int64) {})
	if err != nil || r.Rejected != 2 || len(r.Changes) != 1 || len(r.Changes[0].Deciding) != 2 ||
		r.Changes[0].Deciding[0].Text != "match-8841" || r.Changes[0].Deciding[1].Text != "match-8842" {
		t.Fatalf("got %+v, %v, want both events by name", r, err)
	}
	ended := board
	ended.Status = scoreboard.StatusArchived
	why := &scoreboard.AuditEntry{Actor: "ops", Action: "void.create", Target: "board:global", Reason: "test"}
	for code, apply := range map[wire.Code]func() error{
		wire.CodeBoardClosed: func() error {
			_, _, err := w.ApplyWhatIf(t.Context(), &ended, ask(), r.Digest, why, func(int64) {})
			return err
		},
		wire.CodeConflict: func() error {
			other := "0" + r.Digest[1:]
			if other == r.Digest {
				other = "1" + r.Digest[1:]
			}
			_, _, err := w.ApplyWhatIf(t.Context(), &board, ask(), other, why, func(int64) {})
			return err
		},
	} {
		if err := apply(); wire.CodeOf(err) != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	if n := conn.Count(t, `select count(*) from voids`); n != 0 {
		t.Errorf("%d voids were created", n)
	}
	if _, v, err := w.ApplyWhatIf(t.Context(), &board, ask(), r.Digest, why, func(int64) {}); err != nil || v == nil {
		t.Errorf("with its own digest: got %+v, %v", v, err)
	}
}

// A result says that a void of its events may skip some, and that one on a frozen board skips all. One that
// cannot be applied, or rejects nothing, does not.
func TestWhatIfSaysWhatAVoidSkips(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	since := time.Now().Add(-time.Minute)
	event, err := scoreboard.ParseEventID("mallory", "match-1")
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := s.Increments.Record(t.Context(), []scoreboard.Increment{{
		User: "mallory", Delta: 900, Event: event, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
		Source: scoreboard.SourceAPI,
	}})
	if err != nil || outcomes[0].Err != nil {
		t.Fatal(err, outcomes[0].Err)
	}
	w := admin.WhatIf{PastBoards: s.PastBoards, Corrections: s.Corrections}
	for name, c := range map[string]struct {
		status scoreboard.Status
		max    int64
		ties   scoreboard.Ties
		want   string
	}{
		"active":           {scoreboard.StatusActive, 500, "", "a void skips, and counts, events"},
		"frozen":           {scoreboard.StatusFrozen, 500, "", "board global is frozen: a void skips all"},
		"archived":         {scoreboard.StatusArchived, 500, "", ""},
		"with ties":        {scoreboard.StatusActive, 500, scoreboard.TiesShared, ""},
		"nothing rejected": {scoreboard.StatusActive, 1000, "", ""},
	} {
		board := scoreboard.Board{
			ID: scoreboard.GlobalBoard, Family: scoreboard.GlobalBoard, Mode: scoreboard.ModeIncrement,
			Order: scoreboard.OrderHighest, Status: c.status, MinScore: -scoreboard.MaxScore,
			MaxScore: scoreboard.MaxScore, MaxDelta: 1000, Created: since,
		}
		r, err := w.WhatIf(t.Context(), &board, &scoreboard.WhatIf{
			Since: since, Rules: scoreboard.WhatIfRules{MaxDelta: &c.max, Ties: c.ties}, Limit: 10,
		}, func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Limits, "; "); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: the limits are %q, want %q", name, got, c.want)
		}
	}
}
