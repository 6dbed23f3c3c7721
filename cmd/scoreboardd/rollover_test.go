package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Midnight passes under load with two nodes, one of which is killed before it and
// restarted after it. Every increment is in exactly one period, by its time and the
// same for all boards of an event, and a repeat returns it. The ends of the periods
// are announced although the maintenance node was down.
func TestMidnightUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.env = append(h.env, "SCOREBOARD_BOARDS_CLOSE_GRACE=1s")
	one := h.start("--roles", "api,relay,projector,intake")
	maintenance := h.start("--roles", "maintenance")
	root := h.client(one, "root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	midnight := time.Now().Add(4 * time.Second).UTC().Truncate(time.Microsecond)
	end := midnight.Add(time.Hour)
	if _, err := root.CreateBoard(ctx, client.BoardRequest{
		Board: "season", Period: "season", Season: "one",
		EndsAt: &midnight,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.RollBoards(ctx, "season", client.RollRequest{
		Season: "two", StartsAt: &midnight,
		EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	daily, err := root.CreateBoard(ctx, client.BoardRequest{
		Board: "eu-daily", Period: "daily", Region: "eu",
		TimeZone: "Europe/Berlin",
	})
	if err != nil {
		t.Fatal(err)
	}
	// Move the boundary between two Berlin days to the end of the season.
	stamp := midnight.Format(time.RFC3339Nano)
	h.exec(
		`update boards set period_end = '` + stamp + `', period_start = '` + stamp + `'::timestamptz - interval '1 day'
		where board_id = '` + daily.Current + `';
		with later as (select '` + stamp + `' - min(period_start) as gap from boards
		where family_id = 'eu-daily' and board_id > '` + daily.Current + `')
		update boards set period_start = period_start + (select gap from later),
		period_end = period_end + (select gap from later)
where family_id = 'eu-daily' and board_id > '` + daily.Current + `'`,
	)

	boards := []string{"global", "season", "eu-daily"}
	var stop atomic.Bool
	var mu sync.Mutex
	receipts := map[string][]client.Receipt{}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				in := client.Increment{
					User: fmt.Sprintf("u%d", (w+n)%5), Delta: 1,
					EventID: fmt.Sprintf("e-%d-%d", w, n),
				}
				got, err := root.SubmitBoards(ctx, in, boards)
				if err != nil {
					t.Errorf("%s: %v", in.EventID, err)
					return
				}
				mu.Lock()
				receipts[in.User+" "+in.EventID] = got
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Until(midnight.Add(-time.Second)))
	maintenance.kill()
	time.Sleep(time.Until(midnight.Add(2 * time.Second))) // also past boards.close_grace
	stop.Store(true)
	all.Wait()
	if n := h.sql(`select count(*) from boards where closed_at is not null`); n != 0 {
		t.Errorf("%d boards are closed without a maintenance node", n)
	}
	h.start("--roles", "maintenance")

	if n := h.sql(`select count(*) from user_score_histories h join boards b using (board_id)
where b.period <> 'none' and (h.recorded_at < b.period_start or h.recorded_at >= b.period_end)`); n != 0 {
		t.Errorf("%d rows are not in the period of their time", n)
	}
	if n := h.sql(
		`select count(*) from (select count(*) filter (where board_id = 'global') as g,
		count(*) filter (where board_id like 'season:%') as s,
		count(*) filter (where board_id like 'eu-daily:%') as d
		from user_score_histories group by user_id, event_id) as e where (g, s, d) <> (1, 1, 1)`,
	); n != 0 {
		t.Errorf("got %d events that are not recorded once on each board", n)
	}
	if n := h.sql(`select count(distinct (user_id, event_id)) from user_score_histories`); n != int64(len(receipts)) {
		t.Errorf("%d events are recorded, %d were acknowledged", n, len(receipts))
	}
	sides := map[string]int{}
	for event, got := range receipts {
		if len(got) != 3 || strings.HasSuffix(got[1].Board, ":one") != (got[2].Board == daily.Current) {
			t.Errorf("%s: receipts %+v", event, got)
		}
		if got[1].RecordedAt.Before(midnight) != (got[1].Board == "season:one") {
			t.Errorf("%s of %s is on %s", event, got[1].RecordedAt, got[1].Board)
		}
		sides[got[1].Board]++
	}
	if sides["season:one"] < 10 || sides["season:two"] < 10 {
		t.Fatalf("%v: too few increments on one side of midnight", sides)
	}
	for event, was := range receipts {
		if was[1].Board == "season:one" {
			user, id, _ := strings.Cut(event, " ")
			again, err := root.SubmitBoards(ctx, client.Increment{User: user, Delta: 1, EventID: id}, boards)
			if err != nil || !again[1].Replayed || again[1].Board != "season:one" || again[2].Board != daily.Current ||
				again[1].NewScore != was[1].NewScore {
				t.Errorf("%s repeated: got %+v, %v", event, again, err)
			}
			break
		}
	}
	events := h.closed(ctx, 2)
	for _, board := range []string{"season:one", daily.Current} {
		eventually(t, board+" to be final", func() error {
			b, err := root.Board(ctx, board)
			if err == nil && b.StandingsHash == "" {
				err = errors.New("it is not yet")
			}
			return err
		})
		final, err := root.FinalStandings(ctx, board, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum, total := sha256.New(), int64(0)
		for _, e := range final.Entries {
			leaf := sha256.Sum256(fmt.Appendf(nil, "%d\t%s\t%d\t%d\t%s\n",
				e.Rank, e.UserID, e.Score, e.ReachedAt.UnixMicro(), e.Salt))
			fmt.Fprintf(sum, "%x\n", leaf)
			total += e.Score
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != final.StandingsHash {
			t.Errorf("%s: the hash is %s, its rows hash to %s", board, final.StandingsHash, got)
		}
		if n := h.sql(`select sum(applied)::bigint from user_score_histories where board_id = '` + board +
			`'`); n != total {
			t.Errorf("%s: the final standings add up to %d, the ledger to %d", board, total, n)
		}
		found := slices.IndexFunc(events, func(e protocol.SeasonClosed) bool { return e.Board == board })
		if found < 0 {
			t.Errorf("the end of %s was not announced", board)
			continue
		}
		e := events[found]
		id, err := scoreboard.ParseEventID("", "season.closed:"+board)
		if err != nil || e.EventID != scoreboard.FormatUUID(id.UUID) || e.StandingsHash != final.StandingsHash ||
			e.StandingsVersion != final.StandingsVersion || final.StandingsVersion != scoreboard.StandingsVersion ||
			e.Users != final.Users ||
			!e.PeriodEnd.Equal(midnight) || len(e.Top) != 5 || e.Top[0].Score != final.Entries[0].Score {
			t.Errorf("%s: announced %+v, %v", board, e, err)
		}
	}
	if _, err := root.UnfreezeBoard(ctx, "season:one"); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("unfreeze a closed period: got %v", err)
	}
	top, err := root.Top(ctx, client.TopQuery{Board: "season"})
	if err != nil || top.Board != "season:two" {
		t.Errorf("the top of the season is of %s, %v", top.Board, err)
	}
}

// closed reads at least n announced ends of periods from the topic.
func (h *harness) closed(ctx context.Context, n int) (all []protocol.SeasonClosed) {
	h.t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{h.setting("SCOREBOARD_KAFKA_BROKERS")}, Topic: h.setting("SCOREBOARD_KAFKA_SEASONS_TOPIC"),
		MaxWait: 100 * time.Millisecond,
	})
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for len(all) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			h.t.Errorf("after %d ends of periods: %v", len(all), err)
			return all
		}
		var e protocol.SeasonClosed
		if err := json.Unmarshal(m.Value, &e); err != nil || e.Type != "season.closed" || string(m.Key) != e.Board {
			h.t.Errorf("read %s: %v", m.Value, err)
		}
		all = append(all, e)
	}
	return all
}
