package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A board with a schedule is like a weekly one: shown before it is created, written by its own
// name, read with the end of its period, followed over the end, sealed, and read afterwards.
func TestBoardWithASchedule(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "boards-close-grace", "1s")
	root, ada := n.client("root", auth.ScopeAdmin), n.client("ada", "")
	// Half a week away, so that no period ends meanwhile.
	day := time.Now().UTC().AddDate(0, 0, 3)
	r := client.BoardRequest{
		Board: "cup", Period: "cron", Schedule: fmt.Sprintf("30  18 * * %s", day.Format("Mon")),
		TimeZone: "Europe/Berlin",
		DryRun:   true,
	}
	shown, err := root.CreateBoard(t.Context(), r)
	if err != nil || len(shown.NextResets) != 10 || shown.Schedule != "30 18 * * "+strings.ToLower(day.Format("Mon")) {
		t.Fatalf("dry run: %+v, %v, want ten resets", shown, err)
	}
	if _, err := root.Board(t.Context(), "cup"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Fatalf("the dry run created a board: %v", err)
	}
	if trail, err := root.Audit(t.Context(), client.AuditQuery{Target: "board:cup"}); err != nil ||
		len(trail.Entries) != 0 {
		t.Errorf("the dry run is in the audit trail: %+v, %v", trail, err)
	}
	r.DryRun = false
	made, err := root.CreateBoard(t.Context(), r)
	if err != nil || made.NextResets != nil {
		t.Fatalf("%+v, %v", made, err)
	}
	r.DryRun = true
	if _, err := root.CreateBoard(t.Context(), r); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("dry run of a board that exists: %v, want a conflict", err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range shown.NextResets {
		if local := at.In(zone); local.Format("Mon 15:04") != day.Format("Mon")+" 18:30" ||
			i > 0 && !local.AddDate(0, 0, -7).Equal(shown.NextResets[i-1]) {
			t.Errorf("reset %d is at %s", i+1, local)
		}
	}
	receipt, err := ada.Submit(t.Context(), client.Increment{User: "ada", Board: "cup", Delta: 7})
	if err != nil || !regexp.MustCompile(`^cup:\d{4}-\d\d-\d\dt\d{4}z$`).MatchString(string(receipt.Board)) {
		t.Fatalf("%+v, %v", receipt, err)
	}
	now, err := ada.Board(t.Context(), string(receipt.Board))
	if err != nil || string(receipt.Board) != "cup:"+now.PeriodStart.Format("2006-01-02t1504z") ||
		!now.PeriodEnd.Equal(shown.NextResets[0]) {
		t.Errorf("%+v, %v, want the end %s", now, err, shown.NextResets[0])
	}
	h.await("the reads to say when the period ends", func() bool {
		b, err := ada.Board(t.Context(), "cup")
		p, meErr := ada.Me(t.Context(), client.PlaceQuery{Board: "cup"})
		return err == nil && meErr == nil && b.Current == string(receipt.Board) &&
			b.NextReset != nil && b.NextReset.Equal(shown.NextResets[0]) && b.EndsAt.Equal(shown.NextResets[0]) &&
			p.NextReset != nil && p.NextReset.Equal(shown.NextResets[0])
	})
	states := ada.Watch(t.Context(), "cup", client.WatchOptions{})
	await(t, states, "ada in the first period", func(s client.State) bool {
		return healthy(s) && s.Board == string(receipt.Board) && leads("ada")(s)
	})

	// The period ends now.
	next := "cup:" + shown.NextResets[0].Format("2006-01-02t1504z")
	backends.Connect(t, h.postgres).Do(t, `with moment as (select clock_timestamp() as at), ended as (
    update boards set period_end = at from moment where board_id = $1)
update boards set period_start = at from moment where board_id = $2`, string(receipt.Board), next)
	h.await("the next period to take scores", func() bool {
		r, err := ada.Submit(t.Context(), client.Increment{User: "ada", Board: "cup", Delta: 1})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Board) == next
	})
	await(t, states, "the second period", func(s client.State) bool { return s.Board == next && leads("ada")(s) })
	var final client.FinalStandings
	h.await("the final standings", func() bool {
		final, err = ada.FinalStandings(t.Context(), string(receipt.Board), 0)
		return err == nil
	})
	if len(final.Entries) != 1 || final.Entries[0].UserID != "ada" || final.Entries[0].Score != 7 {
		t.Errorf("got %+v, want ada with 7", final)
	}
	if p, err := ada.Score(t.Context(), "ada", client.PlaceQuery{Board: string(receipt.Board)}); err != nil ||
		p.Score != 7 {
		t.Errorf("the period that has ended: %+v, %v", p, err)
	}
	// A period that is missing is created again, under the same name.
	later := "cup:" + shown.NextResets[1].Format("2006-01-02t1504z")
	backends.Connect(t, h.postgres).Do(t, `delete from boards where board_id = $1`, later)
	if _, err := root.RollBoards(t.Context(), "cup", client.RollRequest{}); err != nil {
		t.Error(err)
	}
	if b, err := ada.Board(t.Context(), later); err != nil || !b.PeriodEnd.Equal(shown.NextResets[2]) {
		t.Errorf("got %+v, %v, want the end %s", b, err, shown.NextResets[2])
	}
	page, err := ada.Boards(t.Context(), client.BoardQuery{Family: "cup", Period: "cron"})
	if err != nil || len(page.Boards) != 4 { // with the family
		t.Errorf("the list of boards: %+v, %v", page, err)
	}
}

func TestWrongSchedulesAreRejected(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct")
	root := n.client("root", auth.ScopeAdmin)
	for _, r := range []client.BoardRequest{
		{Period: "cron"},
		{Period: "cron", Schedule: "* * * * *"},
		{Period: "cron", Schedule: "0 0 31 2 *"},
		{Period: "cron", Schedule: "0 0 29 2 *"},
		{Period: "cron", Schedule: "0 0 * *"},
		{Period: "daily", Schedule: "0 0 * * *"},
		{Period: "cron", Schedule: "0 0 * * *", Season: "spring"},
		{Period: "cron", Schedule: "0 0 * * *", WeekStart: "sunday"},
		{Period: "cron", Schedule: "0 0 * * *", TimeZone: "Mars/Olympus"},
	} {
		r.Board = "cup"
		for _, r.DryRun = range []bool{true, false} {
			if _, err := root.CreateBoard(t.Context(), r); wire.CodeOf(err) != wire.CodeInvalidRequest {
				t.Errorf("%+v: got %v, want invalid_request", r, err)
			}
		}
	}
}
