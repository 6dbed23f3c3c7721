package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A season of a league on two nodes: places, zones and the cohort while it runs, who moves at its end, and
// where they start in the next one.
func TestLeagueOfASeason(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, append(slices.Clone(loopback), "boards-close-grace", "1s")...)
	other := h.start(allRoles, append(slices.Clone(loopback), "boards-close-grace", "1s")...)
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	b, err := c.CreateBoard(t.Context(), client.BoardRequest{
		Board: "stars", Period: "season", Season: "one", EndsAt: &end, League: &client.League{
			Divisions: 3, CohortSize: 4, Min: 3, Promote: new(1), Relegate: new(1), Fill: "attribute region",
			Idle: "relegate",
		},
	})
	if err != nil || b.League == nil || b.League.CohortSize != 4 || *b.League.Promote != 1 ||
		b.League.Fill != "attribute region" || b.League.Idle != "relegate" {
		t.Fatalf("got %+v, %v, want the league as it was given", b.League, err)
	}
	submit := func(to *client.Client, user, region string, delta int64) {
		t.Helper()
		in := client.Increment{User: user, Board: "stars", Delta: delta}
		if region != "" {
			in.Attributes = map[string]string{"region": region}
		}
		if _, err := to.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	// The players of a region share a cohort, whichever node they come to.
	for i, user := range []string{"ada", "bob", "cy", "dan", "eve"} {
		on := n
		if i%2 == 1 {
			on = other
		}
		submit(on.client("root", auth.ScopeUpdate), user, "eu", int64(100-10*i))
	}
	submit(c, "uma", "us", 1000)
	ada := n.client("ada", "")
	place := func(c *client.Client, user string) client.LeaguePlace {
		t.Helper()
		p, err := c.LeaguePlace(t.Context(), "stars", user, 1)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var own client.LeaguePlace
	h.await("the ranks of the cohort", func() bool {
		own = place(ada, "")
		return own.Players == 4 && own.Rank == 1
	})
	if own.UserID != "ada" || own.League != "stars" || own.Board != "stars:one" || own.Division != 1 ||
		own.Divisions != 3 || own.State != "placed" || own.Zone != "promotion" || *own.Score != 100 ||
		own.SecondsLeft < 3000 || len(own.Neighbours) != 2 || own.Neighbours[1].UserID != "bob" ||
		own.Neighbours[1].Rank != 2 {
		t.Errorf("got %+v", own)
	}
	if last := place(c, "dan"); last.Rank != 4 || last.Zone != "safe" || last.Cohort != own.Cohort {
		t.Errorf("got %+v, want the last of the lowest division, who is safe", last)
	}
	for user, wants := range map[string]string{"eve": "placed", "uma": "placed", "nobody": "none"} {
		if p := place(c, user); p.State != wants || p.Cohort == own.Cohort || p.Division != 1 {
			t.Errorf("%s: got %+v, want %s in no cohort of ada", user, p, wants)
		}
	}
	page, err := ada.Cohort(t.Context(), "stars", own.Cohort, 1, 2)
	if err != nil || page.Players != 4 || page.NextAfter != 3 || len(page.Entries) != 2 || page.Entries[0].Rank != 2 ||
		page.Entries[0].UserID != "bob" || page.Promote != 1 || page.Relegate != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	// A cohort is no board: the lists of boards and the keys of Redis have the league and its season alone.
	if all, err := c.Boards(t.Context(), client.BoardQuery{Family: "stars"}); err != nil || len(all.Boards) != 2 {
		t.Errorf("the boards of the family are %+v, %v, want the league and its season", all.Boards, err)
	}
	keys, err := backends.RedisClient(t, h.redis.URL).Keys(t.Context(), "*stars*").Result()
	if err != nil || len(keys) == 0 {
		t.Errorf("the keys of the league are %v, %v", keys, err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, "sb:{stars:one}:") {
			t.Errorf("Redis has the key %s", key)
		}
	}
	// The cohort follows its members, whichever node they come to.
	stream := openList(t, n, h.token("ada", "", time.Minute), "board=stars&cohort=1", "user.cohort.updated")
	stream.await(fmt.Sprintf(`"cohort":{"id":%d,"division":1,"entries":[{"rank":1,"user_id":"ada","score":100}`,
		own.Cohort))
	submit(other.client("root", auth.ScopeUpdate), "dan", "eu", 2)
	stream.await(`{"rank":4,"user_id":"dan","score":72}`)
	// Hidden players have a pseudonym, private ones are not there, and banned ones neither.
	if _, err := n.client("bob", "").SetPrivacy(t.Context(), "bob", "pseudonym"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ban(t.Context(), "cy", "a bot"); err != nil {
		t.Fatal(err)
	}
	h.await("the cohort without a banned player", func() bool {
		page, err = ada.Cohort(t.Context(), "stars", own.Cohort, 0, 0)
		return err == nil && page.Players == 3 && strings.HasPrefix(page.Entries[1].UserID, "~") &&
			page.Entries[2].UserID == "dan" && page.Entries[2].Rank == 3
	})
	for path, want := range map[string]int{
		"/v1/leagues/stars/users/bob":                                     http.StatusForbidden,
		"/v1/users/bob/leagues":                                           http.StatusForbidden,
		"/v1/leagues/global/me":                                           http.StatusNotFound,
		"/v1/leagues/none/me":                                             http.StatusNotFound,
		"/v1/leagues/stars/me?k=51":                                       http.StatusBadRequest,
		"/v1/leagues/stars/cohorts/x":                                     http.StatusBadRequest,
		"/v1/leagues/stars/cohorts/99999":                                 http.StatusNotFound,
		fmt.Sprintf("/v1/leagues/stars/cohorts/%d?limit=201", own.Cohort): http.StatusBadRequest,
		"/v1/users/me/leagues?league=no+name":                             http.StatusBadRequest,
		"/v1/users/me/leagues?league=stars":                               http.StatusOK,
	} {
		if got, body := h.get(t, n.URL+path, bearer(h.token("ada", "", time.Minute))); got != want {
			t.Errorf("%s: got %d %s, want %d", path, got, body, want)
		}
	}
	// Players choose no attribute for a board.
	if _, err := ada.Submit(t.Context(), client.Increment{
		User: "ada", Board: "stars", Delta: 1, Attributes: map[string]string{"region": "us"},
	}); wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("got %v, want an invalid_request", err)
	}
	for _, bad := range []string{
		`{"divisions":1}`, `{}`, `{"divisions":2,"cohort_size":201}`, `{"divisions":2,"cohort_size":4,"min":5}`,
		`{"divisions":2,"promote":51}`, `{"divisions":2,"idle":"go"}`, `{"divisions":2,"fill":"attribute"}`,
		`{"divisions":2,"fill":"random"}`,
	} {
		body := `{"board":"bad","period":"weekly","league":` + bad + `}`
		token := bearer(h.token("root", auth.ScopeAdmin, time.Minute))
		if status, _, answer := request(t, http.MethodPost, n.URL+"/v1/boards", body, token); status != 400 {
			t.Errorf("%s: got %d %s, want 400", bad, status, answer)
		}
	}
	token := bearer(h.token("root", auth.ScopeAdmin, time.Minute))
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/boards", `{"board":"bad","league":{"divisions":2}}`,
		token)
	if status != 400 {
		t.Errorf("a league without periods: got %d %s, want 400", status, answer)
	}
	cohortsForOperators(t, h, n, c, own.Cohort)
	r := newReceiver(t)
	if _, err := c.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: r.URL, Types: []string{"league.moved"}, Boards: []string{"stars"},
	}); err != nil {
		t.Fatal(err)
	}
	endOfALeague(t, h, c, ada, own.Cohort)
	h.await("a message about the move", func() bool { return len(r.all("league.moved")) > 0 })
	var sent struct{ Data wire.LeagueMoved }
	m := r.all("league.moved")[0]
	if err := json.Unmarshal([]byte(m.body), &sent); err != nil || sent.Data.Board != "stars:one" ||
		sent.Data.Family != "stars" || len(sent.Data.Moves) != 1 ||
		sent.Data.Moves[0] != (wire.LeagueMove{UserID: "ada", Rank: 1, Players: 3, From: 1, To: 2}) {
		t.Errorf("got %s, want the move of ada alone", m.body)
	}
	_, body, _ := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour)).get("/console/players/ada")
	if want := fmt.Sprintf("rank 1 of 3 in cohort %d, division 1 to 2", own.Cohort); !strings.Contains(body, want) {
		t.Errorf("the player's page in the console does not say %q: %s", want, body)
	}
	if _, err := c.Erase(t.Context(), "ada", "asked for it"); err != nil {
		t.Fatal(err)
	}
	if page, err := c.LeagueHistory(t.Context(), client.LeagueQuery{User: "ada"}); err != nil ||
		len(page.Outcomes) != 0 {
		t.Errorf("an erased player: got %+v, %v, want none", page, err)
	}
}

// cohortsForOperators lists the cohorts of TestLeagueOfASeason in pages, by the API and in the console.
func cohortsForOperators(t *testing.T, h *harness, n *node, c *client.Client, cohort int64) {
	t.Helper()
	var all []wire.CohortFill
	for after := int64(0); ; {
		page, err := c.Cohorts(t.Context(), "stars", 0, after, 1)
		if err != nil || page.Board != "stars:one" || page.Divisions != 3 || len(page.Cohorts) != 1 {
			t.Fatalf("got %+v, %v", page, err)
		}
		all = append(all, page.Cohorts...)
		if after = page.NextAfter; after == 0 {
			break
		}
	}
	want := wire.CohortFill{
		Cohort: cohort, Division: 1, Attribute: "eu", Players: 4, Size: 4, Full: true, Promote: 1,
	}
	if len(all) != 3 || all[0] != want || all[1].Players != 1 || all[2].Attribute != "us" || all[2].Promote != 0 {
		t.Errorf("got %+v, want three cohorts, the first %+v", all, want)
	}
	if page, err := c.Cohorts(t.Context(), "stars:one", 2, 0, 0); err != nil || len(page.Cohorts) != 0 {
		t.Errorf("the second division: got %+v, %v, want none", page, err)
	}
	path := n.URL + "/v1/admin/leagues/"
	operator := bearer(h.token("olga", auth.ScopeOperate, time.Minute))
	for query, status := range map[string]int{
		"stars/cohorts?division=0": http.StatusBadRequest, "stars/cohorts?division=21": http.StatusBadRequest,
		"stars/cohorts?limit=1001": http.StatusBadRequest, "stars/cohorts?after=0": http.StatusBadRequest,
		"global/cohorts": http.StatusNotFound, "stars/cohorts?division=1": http.StatusOK,
	} {
		if got, body := h.get(t, path+query, operator); got != status {
			t.Errorf("%s: got %d %s, want %d", query, got, body, status)
		}
	}
	if got, _ := h.get(t, path+"stars/cohorts", bearer(h.token("ada", "", time.Minute))); got != http.StatusForbidden {
		t.Errorf("a player lists cohorts: got %d, want 403", got)
	}
	visit := newVisitor(t, n.Ops).signIn(h.token("olga", auth.ScopeOperate, time.Hour))
	link := fmt.Sprintf(`href="/console/boards/stars/league/cohorts/%d"`, cohort)
	for page, texts := range map[string][]string{
		"/console/boards/stars": {`href="/console/boards/stars/league"`},
		"/console/boards/stars/league": {
			link, "3 rows", "up to 4; at least 3 for anyone to move",
		},
		"/console/boards/stars/league?user=dan":                        {"1 of 3", "safe"},
		"/console/boards/stars/league?user=new":                        {"none: nothing was submitted in this period"},
		"/console/boards/stars/league?division=2":                      {"The division has no cohort in this period."},
		fmt.Sprintf("/console/boards/stars/league/cohorts/%d", cohort): {"promotion", "safe", "/console/players/dan"},
	} {
		status, body, _ := visit.get(page)
		for _, text := range texts {
			if status != http.StatusOK || !strings.Contains(body, text) {
				t.Errorf("%s: got %d without %q: %s", page, status, text, body)
			}
		}
	}
	for page, status := range map[string]int{
		"/console/boards/global/league": 404, "/console/boards/stars/league/cohorts/x": 404,
		"/console/boards/stars/league/cohorts/99999": 404,
	} {
		if got, body, _ := visit.get(page); got != status {
			t.Errorf("%s: got %d, want %d: %s", page, got, status, body)
		}
	}
}

// endOfALeague ends the season of TestLeagueOfASeason.
func endOfALeague(t *testing.T, h *harness, c, ada *client.Client, cohort int64) {
	t.Helper()
	later := time.Now().Add(time.Hour).UTC()
	if _, err := c.RollBoards(t.Context(), "stars", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	// Before the decision or after it: the place is in the new division.
	if _, err := c.Submit(t.Context(), client.Increment{User: "ada", Board: "stars", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	var history client.LeagueHistory
	h.await("the outcome of the season", func() (done bool) {
		var err error
		history, err = ada.LeagueHistory(t.Context(), client.LeagueQuery{})
		return err == nil && len(history.Outcomes) == 1
	})
	o := history.Outcomes[0]
	if o.UserID != "ada" || o.Board != "stars:one" || o.Cohort != cohort || o.Rank != 1 || o.Players != 3 ||
		o.From != 1 ||
		o.To != 2 || o.Revision != 1 {
		t.Errorf("got %+v, want ada's promotion", o)
	}
	h.await("ada's place in the second division", func() bool {
		p, err := ada.LeaguePlace(t.Context(), "stars", "", 0)
		return err == nil && p.State == "placed" && p.Division == 2 && p.Board == "stars:two"
	})
	for user, want := range map[string]int{"bob": 1, "dan": 1, "uma": 1, "eve": 1} {
		page, err := c.LeagueHistory(t.Context(), client.LeagueQuery{User: user, League: "stars"})
		if err != nil || len(page.Outcomes) != 1 || page.Outcomes[0].To != want {
			t.Errorf("%s: got %+v, %v, want division %d", user, page, err, want)
		}
	}
	if page, err := c.LeagueHistory(t.Context(), client.LeagueQuery{User: "cy"}); err != nil ||
		len(page.Outcomes) != 0 {
		t.Errorf("a banned player: got %+v, %v, want none", page, err)
	}
	if p, err := ada.LeaguePlace(t.Context(), "stars:one", "", 0); err != nil || p.Division != 1 || p.SecondsLeft != 0 {
		t.Errorf("the first season: got %+v, %v", p, err)
	}
}
