package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func playerHref(user string) string { return Root + "/players/" + url.PathEscape(user) }

// topList is the top of a board, from which players are chosen.
var topList = &list[wire.Entry]{
	name: "leaderboard", path: Root + "/players", cursor: "cursor", empty: "Nobody has a score on this board.",
	filters: []filter{{Name: "board", Label: "Board", Hint: "global"}},
	columns: []column[wire.Entry]{
		{"rank", "Rank", func(e wire.Entry) cell { return number(e.Rank) }},
		{"user_id", "User", func(e wire.Entry) cell { return to(playerHref(e.UserID), e.UserID) }},
		{"display_name", "Display name", func(e wire.Entry) cell { return text(e.DisplayName) }},
		{"score", "Score", func(e wire.Entry) cell { return number(e.Score) }},
		{"subscore", "Subscore", func(e wire.Entry) cell { return numberOrNone(e.Subscore) }},
	},
	rare: "subscore",
	fetch: func(k *call, q url.Values) ([]wire.Entry, string, error) {
		var out wire.Top
		q.Set("limit", "100")
		err := k.get("/v1/leaderboard/top", q, &out)
		return out.Entries, out.NextCursor, err
	},
}

// foundList is the players whose display name begins with a text.
var foundList = &list[wire.FoundUser]{
	name: "players", path: Root + "/players", cursor: "after",
	noMatch: "No display name begins with this text.",
	filters: []filter{{Name: "name", Label: "Display name begins with"}},
	columns: []column[wire.FoundUser]{
		{"display_name", "Display name", func(u wire.FoundUser) cell {
			return to(playerHref(u.UserID), u.DisplayName)
		}},
		{"user_id", "User", func(u wire.FoundUser) cell { return to(playerHref(u.UserID), u.UserID) }},
		{"status", "Status", func(u wire.FoundUser) cell { return badge(u.Status) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.FoundUser, string, error) {
		var out wire.FoundUsers
		err := k.get("/v1/admin/users", q, &out)
		return out.Users, out.NextAfter, err
	},
}

// playersView is the page on which players are found.
type playersView struct {
	Asked string // the id or name that was asked for
	Exact string // the player with this id; "" for none
	Names bool   // Table has players by name, not the top of a board
	ByID  bool   // the person may find players by id only
	Table *tableView
}

// players finds players by id or, for operators, by name, or from the top of a board.
func (c *views) players(w http.ResponseWriter, r *http.Request, s *session) error {
	asked := strings.TrimSpace(r.URL.Query().Get("user"))
	if asked != "" {
		//nolint:gosec // G710: always a page of the console
		http.Redirect(w, r, c.findPlayer(c.caller.as(r, s), s, asked), http.StatusSeeOther)
		return nil
	}
	k, name := c.caller.as(r, s), strings.TrimSpace(r.URL.Query().Get("name"))
	d := &playersView{Asked: name, Names: name != "", ByID: !s.May(scopeOperate)}
	v := &view{Title: "Players", Section: "players", Data: d}
	show := func(t *tableView, done bool, err error) error {
		if done || err != nil {
			return err
		}
		d.Table = t
		if d.Names {
			t.Filters = nil // the field above has the name
		}
		return c.screen.show(w, r, s, "players", v)
	}
	if !d.Names {
		return show(tableOrExport(topList, k, w, r))
	}
	if user := userOf(name); k.get("/v1/admin/users/"+url.PathEscape(user), nil, nil) == nil {
		d.Exact = user
	}
	return show(tableOrExport(foundList, k, w, r))
}

// userOf returns the user id that was asked for: the text itself, or the id that is derived from that of an
// identity provider, such as auth0|5f7c.
func userOf(asked string) string {
	if _, err := scoreboard.ParseUserID(asked); err == nil {
		return asked
	}
	if user, err := scoreboard.ExternalUserID(asked); err == nil {
		return string(user)
	}
	return asked
}

// findPlayer returns the page that answers a search: the player with this id, also that of an
// identity provider, or those whose name begins with the text.
func (c *views) findPlayer(k *call, s *session, asked string) string {
	user := userOf(asked)
	if !s.May(scopeOperate) {
		return playerHref(user)
	}
	found, _, err := foundList.fetch(k, url.Values{"name": {asked}, "limit": {"2"}})
	known := k.get("/v1/admin/users/"+url.PathEscape(user), nil, nil) == nil
	switch {
	case known && (err != nil || len(found) == 0 || len(found) == 1 && found[0].UserID == user):
		return playerHref(user)
	case !known && len(found) == 1:
		return playerHref(found[0].UserID)
	}
	return Root + "/players?" + url.Values{"name": {asked}}.Encode()
}

// playerScore is a player's score on one board, with the rank if it is known.
type playerScore struct {
	wire.UserScore
	Rank, Total int64
	Percentile  float64
}

// playerView is the page of a player.
type playerView struct {
	User      string
	Name      string
	Status    *wire.User
	Facts     []fact
	Scores    []playerScore
	More      int // scores without a rank here
	Statement *tableView
	Export    string
}

// maxRanks bounds the ranks that a player's page reads.
const maxRanks = 12

// player shows a player: status, ranks and the statement.
func (c *views) player(w http.ResponseWriter, r *http.Request, s *session) error {
	user := r.PathValue("user")
	k := c.caller.as(r, s)
	statement := statementList(user)
	if done, err := statement.export(k, w, r); done {
		return err
	}
	d := &playerView{User: user}
	v := &view{Title: user, Section: "players", Crumbs: []link{{Label: "Players", Href: Root + "/players"}}, Data: d}
	if s.May(scopeOperate) {
		var u wire.User
		if err := k.get("/v1/admin/users/"+url.PathEscape(user), nil, &u); err != nil {
			return err
		}
		d.Status = &u
		if s.May(s.scopeOf("user.export")) {
			d.Export = playerHref(user) + "/export"
		}
		d.Facts = append(userFacts(&u), leagueFacts(k, user)...)
		v.Actions = offer(s, playerActions(&u)...)
		d.Scores = ranks(k, &u)
		d.More = len(u.Scores) - min(len(u.Scores), maxRanks)
	} else {
		var p wire.Place
		if err := k.get("/v1/users/"+url.PathEscape(user)+"/rank", nil, &p); err != nil {
			return err
		}
		d.Scores = []playerScore{{
			UserScore: wire.UserScore{Board: p.Board, Score: p.Score, Subscore: p.Subscore, ReachedAt: p.UpdatedAt},
			Rank:      p.Rank, Total: p.Total, Percentile: p.Percentile,
		}}
	}
	var profile wire.Profile
	if k.get("/v1/users/"+url.PathEscape(user)+"/profile", nil, &profile) == nil {
		d.Name = profile.DisplayName
	}
	if s.May(scopeOperate) || s.User == user {
		var err error
		if d.Statement, err = statement.view(k, r); err != nil && failureOf(err).Status != http.StatusNotFound {
			return err
		}
	}
	return c.screen.show(w, r, s, "player", v)
}

// shownOutcomes is how many periods of leagues a player's page has.
const shownOutcomes = 10

// leagueFacts are what the ends of the last periods of leagues have decided about a player; none if the node does
// not say.
func leagueFacts(k *call, user string) (facts []fact) {
	var page wire.LeagueHistory
	q := url.Values{"limit": {strconv.Itoa(shownOutcomes)}}
	if k.get("/v1/users/"+url.PathEscape(user)+"/leagues", q, &page) != nil {
		return nil
	}
	for i := range page.Outcomes {
		o := &page.Outcomes[i]
		rank := "nothing submitted"
		switch {
		case o.Rank > 0:
			rank = fmt.Sprintf("rank %d of %d in cohort %d", o.Rank, o.Players, o.Cohort)
		case o.Cohort > 0:
			rank = fmt.Sprintf("no standing in cohort %d", o.Cohort)
		}
		move := fmt.Sprintf("division %d to %d", o.From, o.To)
		if o.From == o.To {
			move = fmt.Sprintf("stays in division %d", o.From)
		}
		facts = append(facts, fact{"League " + o.Board, text(rank + ", " + move)})
	}
	return facts
}

// ranks reads a player's ranks, all at once.
func ranks(k *call, u *wire.User) []playerScore {
	out := make([]playerScore, min(len(u.Scores), maxRanks))
	var all sync.WaitGroup
	for i := range out {
		out[i].UserScore = u.Scores[i]
		all.Go(func() {
			var p wire.Place
			q := url.Values{"board": {out[i].Board}}
			if k.get("/v1/users/"+url.PathEscape(u.UserID)+"/rank", q, &p) == nil { // hidden scores have none
				out[i].Rank, out[i].Total, out[i].Percentile = p.Rank, p.Total, p.Percentile
			}
		})
	}
	all.Wait()
	return out
}

func userFacts(u *wire.User) []fact {
	out := []fact{{"Status", badge(u.Status)}, {"First seen", timeOf(u.CreatedAt)}}
	if u.ExternalID != "" {
		out = append(out, fact{"Id at the identity provider", text(u.ExternalID)})
	}
	if u.Since != nil {
		out = append(out, fact{"Since", timeOf(*u.Since)}, fact{"By", text(u.By)}, fact{"Reason", text(u.Reason)})
	}
	flags := number(u.OpenFlags)
	flags.Href = Root + "/integrity?" + url.Values{"user_id": {u.UserID}, "state": {"all"}}.Encode()
	out = append(out, fact{"Open flags", flags})
	for _, f := range u.VoidFailures {
		out = append(out, fact{fmt.Sprintf("Void #%d", f.VoidID), text(f.State + ": " + f.Reason)})
	}
	return out
}

// playerActions are the changes of a player in their status.
func playerActions(u *wire.User) (out []link) {
	if u.Status == "erased" {
		return nil
	}
	do := func(name, label string) { out = append(out, changeLink(name, label, "user", u.UserID)) }
	out = append(out, changeLink("adjust", "Adjust score", "user", u.UserID, "event", newEventID()))
	switch u.Status {
	case "banned":
		do("user-unban", "Unban")
	case "frozen":
		do("user-unfreeze", "Unfreeze")
		do("user-ban", "Ban")
	default:
		do("user-freeze", "Freeze")
		do("user-ban", "Ban")
	}
	do("user-erase", "Erase")
	return out
}

// statementList is a player's events.
func statementList(user string) *list[wire.StatementEntry] {
	event := func(e wire.StatementEntry) cell {
		q := url.Values{"board": {e.Board}, "at": {e.RecordedAt.UTC().Format(time.RFC3339Nano)}}
		return idOf(playerHref(user)+"/events/"+url.PathEscape(e.EventID)+"?"+q.Encode(), e.EventID)
	}
	return &list[wire.StatementEntry]{
		name: "statement", path: playerHref(user), cursor: "cursor", empty: "No event matches.",
		rare: "new_subscore",
		filters: []filter{
			{Name: "board", Label: "Board"},
			{Name: "from", Label: "From", Hint: "2026-11-21T10:00:00Z"},
			{Name: "to", Label: "To", Hint: "2026-11-21T11:00:00Z"},
		},
		columns: []column[wire.StatementEntry]{
			{"recorded_at", "Recorded", func(e wire.StatementEntry) cell { return timeOf(e.RecordedAt) }},
			{"event_id", "Event", event},
			{"kind", "Kind", func(e wire.StatementEntry) cell { return text(e.Kind) }},
			{"board", "Board", func(e wire.StatementEntry) cell { return to(boardHref(e.Board), e.Board) }},
			{"delta", "Delta", func(e wire.StatementEntry) cell { return signed(e.Delta) }},
			{"new_score", "Score", func(e wire.StatementEntry) cell { return number(e.NewScore) }},
			{"new_subscore", "Subscore", func(e wire.StatementEntry) cell { return numberOrNone(e.NewSubscore) }},
			{"key_id", "Key", func(e wire.StatementEntry) cell { return code(e.KeyID) }},
			{"address", "Address", func(e wire.StatementEntry) cell { return code(e.Address) }},
		},
		fetch: func(k *call, q url.Values) ([]wire.StatementEntry, string, error) {
			var out wire.Statement
			err := k.get("/v1/users/"+url.PathEscape(user)+"/statement", q, &out)
			return out.Entries, out.NextCursor, err
		},
	}
}

// signed is a change of a score.
func signed(n int64) cell {
	v := number(n)
	if n > 0 {
		v.Text = "+" + v.Text
	}
	return v
}

// stage is a step of an event through the pipeline.
type stage struct {
	Label, Detail string
	Tone          string // good, warn or "" for not yet
	At            cell
}

// eventView is the page of an event.
type eventView struct {
	Entry  *wire.StatementEntry
	Facts  []fact
	Stages []stage
}

// event shows how far an event of a player has come.
func (c *views) event(w http.ResponseWriter, r *http.Request, s *session) error {
	user, id, q := r.PathValue("user"), r.PathValue("event"), r.URL.Query()
	k := c.caller.as(r, s)
	at, err := scoreboard.ParseTime(q.Get("at"))
	if err != nil {
		return badTime("at", "The parameter at")
	}
	var found *wire.StatementEntry
	var page wire.Statement
	window := url.Values{
		"board": {q.Get("board")}, "from": {at.Format(time.RFC3339Nano)},
		"to": {at.Add(time.Millisecond).Format(time.RFC3339Nano)},
	}
	if err := k.get("/v1/users/"+url.PathEscape(user)+"/statement", window, &page); err != nil {
		return err
	}
	for i := range page.Entries {
		if page.Entries[i].EventID == id {
			found = &page.Entries[i]
		}
	}
	if found == nil {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "The player has no such event at this time.",
			Next: "Find it in the player's statement.",
		}
	}
	d := &eventView{Entry: found, Facts: eventFacts(found), Stages: eventStages(k, s, found)}
	v := &view{
		Title: "Event " + id, Section: "players", Data: d,
		Crumbs: []link{{Label: "Players", Href: Root + "/players"}, {Label: user, Href: playerHref(user)}},
	}
	if found.Kind != "reversal" && found.Kind != "undo" {
		v.Actions = offer(
			s,
			changeLink("reverse", "Reverse event", "user", user, "event", id, "kind", reversalKind(found)),
		)
	}
	return c.screen.show(w, r, s, "event", v)
}

// reversalKind names the kind of what is reversed, which is needed for adjustments.
func reversalKind(e *wire.StatementEntry) string {
	if e.Kind == "adjustment" {
		return e.Kind
	}
	return ""
}

func eventFacts(e *wire.StatementEntry) []fact {
	previous := cell{Text: "none"}
	if e.PreviousScore != nil {
		previous = number(*e.PreviousScore)
	}
	facts := []fact{
		{"Board", to(boardHref(e.Board), e.Board)},
		{"Delta", signed(e.Delta)},
		{"Score before", previous},
		{"Score after", number(e.NewScore)},
		{"Subscore", numberOrNone(e.Subscore)},
		{"Subscore after", numberOrNone(e.NewSubscore)},
		{"Version", number(e.Version)},
		{"Action", text(e.Action)},
		{"Signing key", code(e.KeyID)},
		{"Client address", code(e.Address)},
		{"User agent", text(e.UserAgent)},
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value.Text == "" })
}

// eventStages derives an event's way through the pipeline from the states of its stages:
// changes are published and applied in order, so what is older than the oldest one that
// waits has passed.
func eventStages(k *call, s *session, e *wire.StatementEntry) []stage {
	sender := "from " + e.Address
	if e.Kind != "" {
		sender = "an operator's " + e.Kind
	}
	out := []stage{
		{Label: "Accepted", Detail: sender, Tone: "good"},
		{
			Label: "Recorded", Detail: fmt.Sprintf("version %d of the score", e.Version), Tone: "good",
			At: timeOf(e.RecordedAt),
		},
	}
	published, ranked := stage{Label: "Published"}, stage{Label: "Ranked"}
	if !s.May(scopeOperate) {
		return out
	}
	now := k.now()
	var box wire.Outbox
	if err := k.get("/v1/admin/outbox", nil, &box); err != nil {
		published.Detail = failureOf(err).Message
	} else {
		published.Tone, published.Detail = "good", "left the outbox"
		for _, shard := range box.Shards {
			if shard.Depth > 0 && !e.RecordedAt.Before(now.Add(-time.Duration(shard.OldestAgeMS)*time.Millisecond)) {
				published.Tone, published.Detail = "warn", "may wait in the outbox"
			}
		}
	}
	var st wire.RankingStatus
	err := k.get("/v1/admin/boards/"+url.PathEscape(e.Board)+"/ranking", nil, &st)
	switch {
	case err != nil:
		ranked.Detail = failureOf(err).Message
	case st.AsOf != nil && !st.AsOf.Before(e.RecordedAt):
		ranked.Tone, ranked.Detail, ranked.At = "good", "the ranking is complete to", timeOf(*st.AsOf)
	default:
		ranked.Tone, ranked.Detail = "warn", "the ranking is not that far yet"
	}
	return append(out, published, ranked)
}

// exportPlayer downloads all that is stored about a player. The API writes its audit entry.
func (c *views) exportPlayer(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	out := &downloadWriter{ResponseWriter: w, name: "player.ndjson"}
	path := "/v1/admin/users/" + url.PathEscape(r.PathValue("user")) + "/export"
	if err := k.send(r.Context(), out, http.MethodGet, path, nil, nil); err != nil {
		return err
	}
	return out.failure()
}

// downloadWriter passes an answer on as a file, and keeps an error answer.
type downloadWriter struct {
	http.ResponseWriter
	name   string
	header http.Header
	failed *answerBuffer
	begun  bool
}

// Header implements http.ResponseWriter.
func (w *downloadWriter) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *downloadWriter) WriteHeader(status int) {
	if w.begun || w.failed != nil {
		return
	}
	if status >= http.StatusBadRequest {
		w.failed = &answerBuffer{header: w.header, status: status}
		return
	}
	w.begun = true
	h := w.ResponseWriter.Header()
	h.Set("Content-Type", w.Header().Get("Content-Type"))
	h.Set("Content-Disposition", `attachment; filename="`+w.name+`"`)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *downloadWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.failed != nil {
		return w.failed.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *downloadWriter) Flush() {
	if w.failed == nil {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// Unwrap lets the API set the deadlines of the connection.
func (w *downloadWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *downloadWriter) failure() error {
	if w.failed == nil {
		return nil
	}
	return readFailure(w.failed.status, w.failed.body.Bytes())
}

// detached keeps the values of a request, whose end does not end it.
func (k *call) detached(ctx context.Context) *call {
	out := *k
	out.ctx = ctx
	return &out
}
