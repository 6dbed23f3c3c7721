package server_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The API answers with the board at a moment, as it was and as of today's bans, and rejects
// what it cannot answer.
func TestBoardAtMoment(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	node := h.start(allRoles)
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	submit := func(user string, delta int64) time.Time {
		t.Helper()
		receipt, err := root.Submit(t.Context(), client.Increment{User: user, Delta: delta})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.RecordedAt
	}
	submit("mallory", 9)
	submit("alice", 5)
	at := submit("bob", 5)
	submit("bob", 100)
	if _, err := root.Ban(t.Context(), "mallory", "a test"); err != nil {
		t.Fatal(err)
	}
	shows := func(asNow bool, want string) {
		t.Helper()
		top, err := root.Top(t.Context(), client.TopQuery{At: at, AsNow: asNow})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range top.Entries {
			got = append(got, e.UserID)
		}
		if strings.Join(got, " ") != want || !top.AsOf.Equal(at) || top.Version != nil || top.Degraded {
			t.Errorf("as now %t: got %v as of %v, want %s as of %v", asNow, got, top.AsOf, want, at)
		}
	}
	shows(false, "mallory alice bob")
	shows(true, "alice bob")
	place, err := root.Around(t.Context(), "bob", client.PlaceQuery{At: at, Neighbours: 1})
	if err != nil || place.Rank != 3 || place.Score != 5 || len(place.Neighbours) != 2 {
		t.Errorf("bob: got %+v, %v, want 5 points and rank 3 with a neighbour", place, err)
	}
	// Who is banned now is shown to servers and operators only.
	player := node.client("bob", "")
	top, err := player.Top(t.Context(), client.TopQuery{At: at})
	if err != nil || top.Total != 2 || top.Entries[0].UserID != "alice" {
		t.Errorf("for a player: got %+v, %v, want alice and bob", top, err)
	}
	for c, want := range map[*client.Client]int64{root: 3, player: 2} {
		h, err := c.RankHistory(t.Context(), "bob", client.HistoryQuery{
			From: at.Add(-time.Hour), To: at, Step: time.Hour,
		})
		if err != nil || len(h.Points) != 2 || h.Points[0].Rank != nil || h.Points[1].Rank == nil ||
			*h.Points[1].Rank != want || *h.Points[1].Score != 5 || h.BestRank != want || !h.BestRankAt.Equal(at) {
			t.Errorf("bob's history: got %+v, %v, want no rank and then %d", h, err, want)
		}
	}
	e, err := player.ExplainRank(t.Context(), "me", "")
	if err != nil || e.UserID != "bob" || e.Rank != 1 || e.Score != 105 || e.Sources.Submitted != 105 ||
		e.Above != nil || e.Below == nil || e.Below.UserID != "alice" || e.Below.Difference != 100 || e.Events != 2 {
		t.Errorf("bob's explanation: got %+v, %v", e, err)
	}
	var refused *client.Error
	if _, err = player.ExplainRank(t.Context(), "alice", ""); !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("an explanation of another user: got %v, want a 403", err)
	}
	_, err = root.Around(t.Context(), "mallory", client.PlaceQuery{At: at, AsNow: true})
	if !errors.As(err, &refused) || refused.Code != wire.CodeNotFound {
		t.Errorf("a banned user as of now: got %v, want not_found", err)
	}
	_, err = root.Top(t.Context(), client.TopQuery{At: time.Now().Add(5 * time.Second)})
	if !errors.As(err, &refused) || refused.Code != wire.CodeNotSettled || refused.RetryAfter == 0 {
		t.Errorf("a moment that has not come: got %v, want not_settled with Retry-After", err)
	}
	history := map[string]string{
		"step=0s": "step", "step=soon": "step", "step=1s&from=2026-11-20T00:00:00Z": "step",
		"to=2100-01-01T00:00:00Z":                           "to",
		"from=2026-11-20T00:00:00Z&to=2026-11-19T00:00:00Z": "from", "as=then": "as",
		"from=0002-01-01T00:00:00Z&to=2026-11-19T00:00:00Z&step=8784h": "step",
	}
	for query, field := range history {
		status, _, body := request(t, http.MethodGet, node.URL+"/v1/users/me/history?"+query, "",
			bearer(h.token("carol", "", time.Hour)))
		if status != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("history with %s: got %d %s, want a 400 about %s", query, status, body, field)
		}
	}
	for query, field := range map[string]string{
		"at=yesterday": "at", "at=2100-01-01T00:00:00Z": "at", "as=now": "as",
		"at=2026-01-01T00:00:00Z&as=then": "as", "at=2026-01-01T00:00:00Z&min_version=3": "min_version",
	} {
		status, _, body := request(t, http.MethodGet, node.URL+"/v1/leaderboard/top?"+query, "",
			bearer(h.token("carol", "", time.Hour)))
		if status != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("%s: got %d %s, want a 400 about %s", query, status, body, field)
		}
	}
}

// A moment of which the ledger is archived is a gone that names the command. An operator has the
// archive read, once in the cluster at a time; then every node answers, for players as well.
func TestArchivedBoardAtMoment(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	folder := t.TempDir()
	const age = 180 * 24 * time.Hour
	db := backends.Connect(t, h.postgres)
	db.Do(t, `update boards set created_at = created_at - $1::interval`, age+24*time.Hour)
	node := h.start(allRoles, "ledger-archive", folder)
	other := h.start("api,relay,projector")
	root := node.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	for i, user := range []string{"alice", "bob", "bob"} {
		if _, err := root.Submit(t.Context(), client.Increment{User: user, Delta: int64(5 + i)}); err != nil {
			t.Fatal(err)
		}
	}
	y, month, _ := time.Now().UTC().Add(-age).Date()
	for i := range time.Month(3) {
		from := time.Date(y, month-1+i, 1, 0, 0, 0, 0, time.UTC)
		db.Do(t, `select create_ledger_partition($1, $2)`, from, from.AddDate(0, 1, 0))
	}
	for _, sql := range []string{
		`update user_score_histories set recorded_at = recorded_at - $1::interval`,
		`update users set created_at = created_at - $1::interval`,
	} {
		db.Do(t, sql, age)
	}
	if done, err := root.ArchiveLedger(t.Context(), false); err != nil || len(done.Partitions) != 3 {
		t.Fatalf("archived %+v, %v, want three partitions", done, err)
	}
	at := time.Now().Add(-age)
	var refused *client.Error
	_, err := root.Top(t.Context(), client.TopQuery{At: at})
	if !errors.As(err, &refused) || refused.Code != wire.CodeGone ||
		!strings.Contains(refused.Message, "sbctl top --board global --at ") {
		t.Fatalf("got %v, want a gone with the command", err)
	}
	r := client.CheckpointRequest{At: at}
	silent := func(client.JobLine) {}
	for what, c := range map[string]*client.Client{
		"a player": node.client("alice", ""), "a node without an archive": other.client("root", auth.ScopeOperate),
	} {
		if _, err := c.CheckpointArchived(t.Context(), r, silent); !errors.As(err, &refused) ||
			refused.Code != wire.CodeForbidden && refused.Code != wire.CodeConflict {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
	db.Do(t, `insert into leases (name, owner, until)
values ('archive reading', 'other', clock_timestamp() + interval '1 minute')`)
	operator := node.client("olga", auth.ScopeOperate)
	if _, err := operator.CheckpointArchived(t.Context(), r, silent); !errors.As(err, &refused) ||
		!strings.Contains(refused.Message, "already being read") {
		t.Errorf("while another node reads it: got %v, want a conflict", err)
	}
	db.Do(t, `delete from leases where name = 'archive reading'`)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CheckpointArchived(t.Context(), r, silent); !errors.As(err, &refused) ||
		refused.Code != wire.CodeUnavailable || !strings.Contains(refused.Message, ".json is missing") {
		t.Errorf("without its files: got %v, want the name of the file", err)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	kept, err := operator.CheckpointArchived(t.Context(), r, silent)
	if err != nil || kept.Board != "global" || kept.Users != 2 || kept.Events != 3 {
		t.Fatalf("got %+v, %v, want two users of three events", kept, err)
	}
	for _, c := range []*client.Client{root, node.client("alice", ""), other.client("bob", "")} {
		top, err := c.Top(t.Context(), client.TopQuery{At: at})
		if err != nil || top.Total != 2 || top.Entries[0].UserID != "bob" || top.Entries[0].Score != 13 {
			t.Errorf("got %+v, %v, want bob with 13", top, err)
		}
		place, err := c.Around(t.Context(), "alice", client.PlaceQuery{At: at, AsNow: true})
		if err != nil || place.Rank != 2 || place.Score != 5 {
			t.Errorf("got %+v, %v, want alice with 5", place, err)
		}
	}
}
