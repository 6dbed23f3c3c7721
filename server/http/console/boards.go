package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func boardHref(name string) string { return Root + "/boards/" + url.PathEscape(name) }

var boardList = &list[wire.Board]{
	name: "boards", path: Root + "/boards", cursor: "after",
	empty: "No boards. Create the first one.",
	filters: []filter{
		{Name: "family", Label: "Family"},
		{
			Name: "period", Label: "Period",
			Options: []string{"", "none", "daily", "weekly", "monthly", "season", "cron"},
		},
		{Name: "status", Label: "Status", Options: []string{"", "active", "frozen", "archived"}},
		{Name: "region", Label: "Region"},
		{Name: "platform", Label: "Platform"},
		{Name: "tag", Label: "Tag"},
	},
	columns: []column[wire.Board]{
		{"board", "Board", func(b wire.Board) cell { return to(boardHref(b.Board), b.Board) }},
		{"status", "Status", func(b wire.Board) cell { return badge(b.Status) }},
		{"mode", "Mode", func(b wire.Board) cell { return text(b.Mode) }},
		{"order", "Order", func(b wire.Board) cell { return text(b.Order + " first") }},
		{"period", "Period", func(b wire.Board) cell { return text(b.Period) }},
		{"visibility", "Visibility", func(b wire.Board) cell { return text(visibility(b.Public)) }},
		{"period_end", "Ends", func(b wire.Board) cell { return timeOrNone(b.PeriodEnd) }},
		{"created_at", "Created", func(b wire.Board) cell { return timeOf(b.CreatedAt) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.Board, string, error) {
		var out wire.Boards
		err := k.get("/v1/boards", q, &out)
		return out.Boards, out.NextAfter, err
	},
}

func visibility(public bool) string {
	if public {
		return "public"
	}
	return "private"
}

// offer returns those of the links that the session may follow.
func offer(s *session, links ...link) (out []link) {
	for _, l := range links {
		if s.May(s.scopeOf(l.Operation)) {
			out = append(out, l)
		}
	}
	return out
}

// changeLink leads to the form of a change with values, as name and value in turn.
func changeLink(name, label string, values ...string) link {
	q := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		q.Set(values[i], values[i+1])
	}
	l := link{Label: label, Href: Root + "/changes/" + name, Operation: changes[name].operation()}
	if len(q) > 0 {
		l.Href += "?" + q.Encode()
	}
	if changes[name].danger {
		l.Tone = "danger"
	}
	return l
}

// boards lists the boards.
func (c *views) boards(w http.ResponseWriter, r *http.Request, s *session) error {
	return table(c, w, r, s, boardList, "list", &view{
		Title: "Boards", Section: "boards", Actions: offer(s, changeLink("board-create", "Create board")),
	})
}

// boardView is the page of a board.
type boardView struct {
	Facts, Ranking []fact
	RankingProblem *failure
	Top            *wire.Top
	TopProblem     *failure
	Periods        *tableView
	Final          *tableView
	FinalHash      string
}

// board shows a board: its rules, its ranking, its top 10, and its periods or final
// standings.
func (c *views) board(w http.ResponseWriter, r *http.Request, s *session) error {
	name := r.PathValue("board")
	k := c.caller.as(r, s)
	var b wire.Board
	if err := k.get("/v1/boards/"+url.PathEscape(name), nil, &b); err != nil {
		return err
	}
	final := finalList(b.Board)
	if b.ClosedAt != nil {
		if done, err := final.export(k, w, r); done {
			return err
		}
	}
	d := &boardView{
		Facts:     slices.Concat(boardFacts(&b), leagueFact(s, &b), joinFacts(k, s, &b), rewardFact(k, &b)),
		FinalHash: b.StandingsHash,
	}
	family := b.Period != "none" && b.Family == ""
	ranked := b.Board
	if family {
		ranked = b.Current
	}
	if s.May(scopeOperate) && b.Status != "archived" && ranked != "" {
		var st wire.RankingStatus
		if err := k.get("/v1/admin/boards/"+url.PathEscape(ranked)+"/ranking", nil, &st); err != nil {
			d.RankingProblem = failureOf(err)
		} else {
			d.Ranking = rankingFacts(&st)
		}
	}
	var top wire.Top
	if err := k.get("/v1/leaderboard/top", url.Values{"board": {b.Board}, "limit": {"10"}}, &top); err != nil {
		d.TopProblem = failureOf(err)
	} else {
		d.Top = &top
	}
	var err error
	if family {
		periods := *boardList
		periods.filters, periods.path = nil, boardHref(b.Board)
		periods.fetch = func(k *call, q url.Values) ([]wire.Board, string, error) {
			q.Set("family", b.Board)
			return boardList.fetch(k, q)
		}
		if done, err := periods.export(k, w, r); done {
			return err
		}
		if d.Periods, err = periods.view(k, r); err != nil {
			return err
		}
	}
	if b.ClosedAt != nil {
		if d.Final, err = final.view(k, r); err != nil {
			return err
		}
	}
	v := &view{
		Title: b.Board, Section: "boards", Crumbs: []link{{Label: "Boards", Href: Root + "/boards"}}, Data: d,
		Actions: offer(s, boardActions(&b, family)...),
	}
	if b.Family != "" {
		v.Crumbs = append(v.Crumbs, link{Label: b.Family, Href: boardHref(b.Family)})
	}
	return c.screen.show(w, r, s, "board", v)
}

// boardActions are the changes of a board in its status.
func boardActions(b *wire.Board, family bool) (out []link) {
	if b.Status == "archived" {
		return nil
	}
	if b.Period != "none" && b.Family == "" {
		out = append(out, changeLink("board-roll", "Roll over", "board", b.Board))
	}
	if b.Family == "" {
		edits := []link{
			changeLink("board-require", "Requirements", "board", b.Board),
			changeLink("board-label", "Labels", "board", b.Board, "region", b.Region, "platform", b.Platform,
				"tags", strings.Join(b.Tags, ",")),
			changeLink("board-attempts", "Attempts", "board", b.Board, "attempts", strconv.FormatInt(b.Attempts, 10)),
			changeLink("board-metadata", "Metadata", "board", b.Board, "metadata", cmp.Or(b.Metadata, "none")),
			joinLink(b),
		}
		if b.MinSubscore != nil && b.MaxSubscore != nil {
			edits = append(edits, changeLink("board-subscore", "Subscores", "board", b.Board, "min_subscore",
				strconv.FormatInt(*b.MinSubscore, 10), "max_subscore", strconv.FormatInt(*b.MaxSubscore, 10)))
		}
		edits = append(edits,
			changeLink("board-tiers", "Tiers", "board", b.Board, "tiers", wire.TiersText(b.Tiers)),
			changeLink("board-appearance", "Appearance", "board", b.Board, "title", b.Title,
				"description", b.Description,
				"color", b.Color, "image", b.Image),
			changeLink("board-partitions", "Partitions", "board", b.Board, "partitions", strconv.Itoa(b.Partitions)),
		)
		for i := range edits {
			edits[i].Edit = true
		}
		out = append(out, edits...)
	}
	if !family {
		out = append(out, changeLink("rebuild", "Rebuild ranking", "board", b.Board))
	}
	if b.Status == "frozen" {
		out = append(out, changeLink("board-unfreeze", "Unfreeze", "board", b.Board))
	} else {
		out = append(out, changeLink("board-freeze", "Freeze", "board", b.Board))
	}
	return append(out, changeLink("board-archive", "Archive", "board", b.Board))
}

func boardFacts(b *wire.Board) []fact {
	out := []fact{
		{"Status", badge(b.Status)},
		{"Mode", text(b.Mode)},
		{"Order", text(b.Order + " first")},
		{"Period", text(b.Period)},
		{"Visibility", text(visibility(b.Public))},
		{"Delta per event", text(formatNumber(b.MinDelta) + " to " + formatNumber(b.MaxDelta))},
		{"Score range", text(scoreRange(b))},
		{"Created", timeOf(b.CreatedAt)},
	}
	add := func(label string, v cell, shown bool) {
		if shown {
			out = append(out, fact{label, v})
		}
	}
	add("Title", text(b.Title), b.Title != "")
	add("Description", text(b.Description), b.Description != "")
	add("Colour", code(b.Color), b.Color != "")
	add("Image", code(b.Image), b.Image != "")
	add("Current period", to(boardHref(b.Current), b.Current), b.Current != "")
	if b.MinSubscore != nil && b.MaxSubscore != nil {
		add("Subscore", text(fmt.Sprintf("%s first among equal scores, %s to %s", b.Subscore,
			formatNumber(*b.MinSubscore), formatNumber(*b.MaxSubscore))), true)
	}
	add("Region", text(b.Region), b.Region != "")
	add("Platform", text(b.Platform), b.Platform != "")
	add("Tags", text(strings.Join(b.Tags, ", ")), len(b.Tags) > 0)
	add("Attempts", text(strconv.FormatInt(b.Attempts, 10)+" per user and period"), b.Attempts > 0)
	add("Metadata", text("shown to: "+b.Metadata), b.Metadata != "")
	add("Ties", text("equal scores share a rank"), b.Ties != "")
	add("Tiers", text(strings.ReplaceAll(wire.TiersText(b.Tiers), ",", ", ")), len(b.Tiers) > 0)
	add("Partitions", text(strconv.Itoa(b.Partitions)), b.Partitions > 1)
	add("Schedule", code(b.Schedule), b.Schedule != "")
	add("Time zone", text(b.TimeZone), b.TimeZone != "")
	add("Begins", timeOrNone(b.PeriodStart), b.PeriodStart != nil)
	add("Ends", timeOrNone(b.PeriodEnd), b.PeriodEnd != nil)
	add("Next period begins", timeOrNone(b.NextReset), b.NextReset != nil)
	add("Closed", timeOrNone(b.ClosedAt), b.ClosedAt != nil)
	for _, need := range b.Require {
		add("Increments need", code(need), true)
	}
	return out
}

// scoreRange is the range of scores that the board allows; most boards allow any.
func scoreRange(b *wire.Board) string {
	if b.MinScore == -scoreboard.MaxScore && b.MaxScore == scoreboard.MaxScore {
		return "any"
	}
	return formatNumber(b.MinScore) + " to " + formatNumber(b.MaxScore)
}

func rankingFacts(s *wire.RankingStatus) []fact {
	out := []fact{
		{"State", cell{Text: stateText(s), Kind: "badge", Tone: tones[s.ShownState()]}},
		{"Users", number(s.Members)},
		{"Epoch", text(strconv.FormatInt(s.Epoch, 10))},
		{"Version", number(s.Version)},
		{"Memory", text(formatBytes(s.Bytes))},
		{"Built", timeOrNone(s.BuiltAt)},
	}
	if s.AgeMS != nil {
		out = append(out, fact{"Behind the ledger", text(formatNumber(*s.AgeMS) + " ms")})
	}
	if s.Partitions > 1 {
		out = append(out, fact{"Partitions now", number(int64(s.Partitions))})
	}
	if s.Rebuilding {
		out = append(out, fact{"Rebuild", badge("running")})
	}
	return out
}

// formatBytes shows a size.
func formatBytes(n int64) string {
	v, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit == 0 {
		return formatNumber(n) + " B"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[unit]
}

// finalList is the final standings of a board.
func finalList(board string) *list[wire.FinalEntry] {
	return &list[wire.FinalEntry]{
		name: "standings", path: boardHref(board), cursor: "after", empty: "Nobody had a score when the period ended.",
		rare: "subscore",
		columns: []column[wire.FinalEntry]{
			{"rank", "Rank", func(e wire.FinalEntry) cell { return number(e.Rank) }},
			{"user_id", "User", func(e wire.FinalEntry) cell { return to(playerHref(e.UserID), e.UserID) }},
			{"score", "Score", func(e wire.FinalEntry) cell { return number(e.Score) }},
			{"subscore", "Subscore", func(e wire.FinalEntry) cell { return numberOrNone(e.Subscore) }},
			{"reached_at", "Reached", func(e wire.FinalEntry) cell { return timeOf(e.ReachedAt) }},
		},
		fetch: func(k *call, q url.Values) ([]wire.FinalEntry, string, error) {
			var out wire.FinalStandings
			err := k.get("/v1/boards/"+url.PathEscape(board)+"/standings", q, &out)
			return out.Entries, cursorOf(out.NextAfter), err
		},
	}
}

// cursorOf returns a cursor that is a number; "" for 0.
func cursorOf(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
