package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

func leagueHref(board string) string { return boardHref(board) + "/league" }

func cohortHref(board string, id int64) string {
	return leagueHref(board) + "/cohorts/" + strconv.FormatInt(id, 10)
}

// cohortList is the cohorts of a period of a league.
func cohortList(board string, league *wire.League) *list[wire.CohortFill] {
	divisions := []string{""}
	for n := range league.Divisions {
		divisions = append(divisions, strconv.Itoa(n+1))
	}
	return &list[wire.CohortFill]{
		name: "cohorts", path: leagueHref(board), cursor: "after",
		about:   "The cohorts in the order in which they were opened. Division 1 is the lowest.",
		empty:   "Nobody has submitted to this period yet.",
		noMatch: "The division has no cohort in this period.",
		filters: []filter{{Name: "division", Label: "Division", Options: divisions}},
		columns: []column[wire.CohortFill]{
			{"cohort", "Cohort", func(f wire.CohortFill) cell {
				return reference(cohortHref(board, f.Cohort), f.Cohort)
			}},
			{"division", "Division", func(f wire.CohortFill) cell { return number(int64(f.Division)) }},
			{"players", "Players", func(f wire.CohortFill) cell { return number(f.Players) }},
			{"size", "Places", func(f wire.CohortFill) cell { return number(f.Size) }},
			{"full", "Takes players", func(f wire.CohortFill) cell { return text(yesOrNone(!f.Full)) }},
			{"attribute", "Attribute", func(f wire.CohortFill) cell { return text(f.Attribute) }},
			{"promote", "Would move up", func(f wire.CohortFill) cell { return number(int64(f.Promote)) }},
			{"relegate", "Would move down", func(f wire.CohortFill) cell { return number(int64(f.Relegate)) }},
		},
		rare: "attribute",
		fetch: func(k *call, q url.Values) ([]wire.CohortFill, string, error) {
			var out wire.Cohorts
			err := k.get("/v1/admin/leagues/"+url.PathEscape(board)+"/cohorts", q, &out)
			return out.Cohorts, cursorOf(out.NextAfter), err
		},
	}
}

// leagueView is the page of a league.
type leagueView struct {
	Board string
	Facts []fact
	Asked string // the player who was looked for; "" for none
	Place []fact // where that player is
	Table *tableView
}

// league shows the cohorts of a league, and finds the one of a player.
func (c *views) league(w http.ResponseWriter, r *http.Request, s *session) error {
	board, k := r.PathValue("board"), c.caller.as(r, s)
	var b wire.Board
	if err := k.get("/v1/boards/"+url.PathEscape(board), nil, &b); err != nil {
		return err
	}
	if b.League == nil {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "The board " + board + " is not a league.",
			Next: "Choose a board whose page shows a league.",
		}
	}
	t, done, err := tableOrExport(cohortList(board, b.League), k, w, r)
	if done || err != nil {
		return err
	}
	d := &leagueView{Board: board, Facts: leagueRules(b.League), Table: t}
	if asked := strings.TrimSpace(r.URL.Query().Get("user")); asked != "" {
		var p wire.LeaguePlace
		d.Asked = userOf(asked)
		path := "/v1/leagues/" + url.PathEscape(board) + "/users/" + url.PathEscape(d.Asked)
		if err := k.get(path, nil, &p); err != nil {
			return err
		}
		d.Place = placeFacts(&p)
	}
	return c.screen.show(w, r, s, "league", &view{
		Title: "League " + board, Section: "boards", Data: d,
		Crumbs: []link{{Label: "Boards", Href: Root + "/boards"}, {Label: board, Href: boardHref(board)}},
	})
}

// leagueFact says how the league of a board works, and leads operators to its cohorts.
func leagueFact(s *session, b *wire.Board) []fact {
	if b.League == nil {
		return nil
	}
	rules := text(b.League.String())
	if s.May(scopeOperate) && (b.Family != "" || b.Current != "") {
		rules.Href = leagueHref(b.Board)
	}
	return []fact{{"League", rules}}
}

func leagueRules(l *wire.League) []fact {
	out := []fact{
		{"Divisions", number(int64(l.Divisions))},
		{"Players per cohort", text(fmt.Sprintf("up to %d; at least %d for anyone to move", l.CohortSize, l.Min))},
		{"Players without a submission", text(l.Idle)},
		{"Cohorts fill by", text(l.Fill)},
	}
	if l.Promote != nil && l.Relegate != nil {
		out = append(out, fact{"Move at the end", text(fmt.Sprintf("%d up, %d down", *l.Promote, *l.Relegate))})
	}
	return out
}

// placeFacts say where a player is in a period.
func placeFacts(p *wire.LeaguePlace) []fact {
	out := []fact{
		{"Player", to(playerHref(p.UserID), p.UserID)},
		{"Period", to(leagueHref(p.Board), p.Board)},
		{"Division", text(fmt.Sprintf("%d of %d", p.Division, p.Divisions))},
	}
	switch p.State {
	case "placed":
		out = append(out, fact{"Cohort", reference(cohortHref(p.Board, p.Cohort), p.Cohort)})
	case "waiting":
		out = append(out, fact{"Cohort", text("follows once the period before has been decided")})
	default:
		out = append(out, fact{"Cohort", text("none: nothing was submitted in this period")})
	}
	if p.Rank > 0 {
		out = append(out,
			fact{"Rank", text(fmt.Sprintf("%d of %d", p.Rank, p.Players))},
			fact{"Zone", text(p.Zone)},
		)
	}
	return out
}

// standingsPage is how many players of a cohort a page has.
const standingsPage = 50

// standingList is the standings of a cohort. The zones follow from the ranks and from how many move.
func standingList(board string, id int64) *list[wire.Entry] {
	var page wire.Cohort
	return &list[wire.Entry]{
		name: "cohort", path: cohortHref(board, id), cursor: "after",
		empty: "No player of this cohort is ranked.",
		columns: []column[wire.Entry]{
			{"rank", "Rank", func(e wire.Entry) cell { return number(e.Rank) }},
			{"user_id", "User", func(e wire.Entry) cell { return to(playerHref(e.UserID), e.UserID) }},
			{"display_name", "Display name", func(e wire.Entry) cell { return text(e.DisplayName) }},
			{"score", "Score", func(e wire.Entry) cell { return number(e.Score) }},
			{"subscore", "Subscore", func(e wire.Entry) cell { return numberOrNone(e.Subscore) }},
			{"zone", "Zone", func(e wire.Entry) cell { return zoneOf(&page, e.Rank) }},
		},
		rare: "subscore",
		fetch: func(k *call, q url.Values) ([]wire.Entry, string, error) {
			q.Set("limit", strconv.Itoa(standingsPage))
			page = wire.Cohort{}
			err := k.get("/v1/leagues/"+url.PathEscape(board)+"/cohorts/"+strconv.FormatInt(id, 10), q, &page)
			return page.Entries, cursorOf(page.NextAfter), err
		},
	}
}

// zoneOf is what a rank in a cohort would lead to if the period ended now.
func zoneOf(page *wire.Cohort, rank int64) cell {
	switch {
	case rank <= int64(page.Promote):
		return cell{Text: "promotion", Kind: "badge", Tone: "good"}
	case rank > page.Players-int64(page.Relegate):
		return cell{Text: "relegation", Kind: "badge", Tone: "bad"}
	}
	return badge("safe")
}

// cohort shows the standings of a cohort.
func (c *views) cohort(w http.ResponseWriter, r *http.Request, s *session) error {
	board := r.PathValue("board")
	id, err := strconv.ParseInt(r.PathValue("cohort"), 10, 64)
	if err != nil {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "A cohort is named by a number.",
			Next: "Choose one on the page of the league.",
		}
	}
	return table(c, w, r, s, standingList(board, id), "list", &view{
		Title: fmt.Sprintf("Cohort %d of %s", id, board), Section: "boards",
		Crumbs: []link{
			{Label: "Boards", Href: Root + "/boards"},
			{Label: board, Href: boardHref(board)},
			{Label: "League", Href: leagueHref(board)},
		},
	})
}
