package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

// playerList is the users who have joined a period.
func playerList(board string) *list[wire.Player] {
	return &list[wire.Player]{
		name: "players", path: boardHref(board) + "/players", cursor: "after", empty: "Nobody has joined this period.",
		columns: []column[wire.Player]{
			{"user_id", "User", func(p wire.Player) cell { return to(playerHref(p.UserID), p.UserID) }},
			{"joined_at", "Joined", func(p wire.Player) cell { return timeOf(p.JoinedAt) }},
		},
		fetch: func(k *call, q url.Values) ([]wire.Player, string, error) {
			var out wire.Players
			err := k.get("/v1/admin/boards/"+url.PathEscape(board)+"/players", q, &out)
			return out.Players, out.NextAfter, err
		},
	}
}

// boardPlayers lists the users who have joined a period.
func (c *views) boardPlayers(w http.ResponseWriter, r *http.Request, s *session) error {
	board := r.PathValue("board")
	t, done, err := tableOrExport(playerList(board), c.caller.as(r, s), w, r)
	if done || err != nil {
		return err
	}
	d := &rowActions{Table: t}
	for _, row := range t.Rows {
		d.Actions = append(d.Actions,
			offer(s, changeLink("player-remove", "Remove", "board", board, "user", row[0].raw())))
	}
	return c.screen.show(w, r, s, "rows", &view{
		Title: "Players of " + board, Section: "boards", Data: d,
		Actions: offer(s, changeLink("player-add", "Add player", "board", board)),
		Crumbs:  []link{{Label: "Boards", Href: Root + "/boards"}, {Label: board, Href: boardHref(board)}},
	})
}

// joinFacts says who may submit to a board, and how many have joined the period that it shows.
func joinFacts(k *call, s *session, b *wire.Board) []fact {
	if b.Join != wire.JoinRequired {
		return nil
	}
	late := "before the start"
	if b.LateJoin {
		late = "also after the start"
	}
	out := []fact{{"Who may submit", text("users who have joined, " + late)}}
	var p wire.Participation
	if k.get("/v1/boards/"+url.PathEscape(b.Board)+"/join", nil, &p) != nil {
		return out // of a board without a period to join
	}
	players := text(formatNumber(p.Players) + " joined " + p.Board)
	if p.MaxPlayers > 0 {
		players.Text = formatNumber(p.Players) + " of " + formatNumber(p.MaxPlayers) + " joined " + p.Board
	}
	if s.May(scopeOperate) {
		players.Href = boardHref(p.Board) + "/players"
	}
	return append(out, fact{"Players", players})
}

// joinLink leads to the form that changes who may submit to a board.
func joinLink(b *wire.Board) link {
	values := []string{
		"board", b.Board, "join", cmp.Or(b.Join, wire.JoinOpen), "max_players", strconv.FormatInt(b.MaxPlayers, 10),
	}
	if b.LateJoin {
		values = append(values, "late_join", "yes")
	}
	return changeLink("board-join", "Who may submit", values...)
}
