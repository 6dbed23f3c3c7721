package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

func rewardsHref(board string) string { return boardHref(board) + "/rewards" }

// bandList is a table of rewards.
var bandList = &list[wire.RewardBand]{
	empty: "No rewards are set for this board.",
	columns: []column[wire.RewardBand]{
		{"band", "Who", func(b wire.RewardBand) cell { return text(b.String()) }},
		{"reward", "Reward", func(b wire.RewardBand) cell { return code(string(b.Reward)) }},
	},
}

// grantList is the rewards of a period.
func grantList(board string) *list[wire.Reward] {
	return &list[wire.Reward]{
		name: "rewards", path: rewardsHref(board), cursor: "after", empty: "No reward matches on this page.",
		filters: []filter{{
			Name: "state", Label: "State", Options: []string{"all", "claimable", "claimed", "revoked", "expired"},
		}},
		columns: []column[wire.Reward]{
			{"id", "Reward", func(r wire.Reward) cell { return reference("", r.ID) }},
			{"state", "State", func(r wire.Reward) cell { return badge(r.State) }},
			{"user_id", "User", func(r wire.Reward) cell { return to(playerHref(r.UserID), r.UserID) }},
			{"rank", "Rank", func(r wire.Reward) cell { return rankOrNone(r.Rank) }},
			{"reward", "Gives", func(r wire.Reward) cell { return code(string(r.Reward)) }},
			{"granted_at", "Granted", func(r wire.Reward) cell { return timeOf(r.GrantedAt) }},
			{"claimed_at", "Claimed", func(r wire.Reward) cell { return timeOrNone(r.ClaimedAt) }},
			{"expires_at", "Expires", func(r wire.Reward) cell { return timeOf(r.ExpiresAt) }},
			{"flagged", "Voided since", func(r wire.Reward) cell { return text(yesOrNone(r.Flagged)) }},
		},
		fetch: func(k *call, q url.Values) ([]wire.Reward, string, error) {
			q.Set("board", board)
			var out wire.BoardRewards
			err := k.get("/v1/admin/rewards", q, &out)
			return out.Rewards, out.NextAfter, err
		},
	}
}

// rankOrNone shows a rank; 0 is that of a reward that an operator granted.
func rankOrNone(rank int64) cell {
	if rank == 0 {
		return text("by an operator")
	}
	return number(rank)
}

func yesOrNone(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}

// rewardsView is the page of the rewards of a board, or of a period.
type rewardsView struct {
	Facts  []fact
	Bands  *tableView
	Grants *rowActions // nil: it is no period that has ended
}

// boardRewards shows the table of rewards of a board, or of a period with what was granted for it.
func (c *views) boardRewards(w http.ResponseWriter, r *http.Request, s *session) error {
	name := r.PathValue("board")
	k := c.caller.as(r, s)
	var b wire.Board
	if err := k.get("/v1/boards/"+url.PathEscape(name), nil, &b); err != nil {
		return err
	}
	var table wire.RewardTable
	if err := k.get("/v1/boards/"+url.PathEscape(name)+"/rewards", nil, &table); err != nil {
		return err
	}
	d := &rewardsView{Facts: rewardFacts(&table), Bands: bandList.plain(table.Bands)}
	v := &view{
		Title: "Rewards of " + name, Section: "boards", Data: d,
		Crumbs: []link{{Label: "Boards", Href: Root + "/boards"}, {Label: name, Href: boardHref(name)}},
	}
	if b.ClosedAt != nil && s.May(scopeOperate) {
		t, done, err := tableOrExport(grantList(name), k, w, r)
		if done || err != nil {
			return err
		}
		d.Grants = &rowActions{Table: t}
		for _, row := range t.Rows {
			var links []link
			if row[1].Text == "claimable" {
				links = offer(s, changeLink("reward-revoke", "Revoke", "board", name, "id", row[0].raw()))
			}
			d.Grants.Actions = append(d.Grants.Actions, links)
		}
		v.Actions = offer(s, changeLink("reward-grant", "Grant reward", "board", name))
	}
	return c.screen.show(w, r, s, "rewards", v)
}

func rewardFacts(t *wire.RewardTable) []fact {
	if len(t.Bands) == 0 {
		return nil
	}
	private := "get none"
	if t.Private {
		private = "get rewards, too"
	}
	return []fact{
		{"In force since", timeOrNone(t.Since)},
		{"Can be claimed for", text(t.Expires)},
		{"Users on no board", text(private)},
	}
}

// rewardFact leads from a board with periods to its rewards.
func rewardFact(k *call, b *wire.Board) []fact {
	if b.Period == "none" {
		return nil
	}
	var t wire.RewardTable
	if k.get("/v1/boards/"+url.PathEscape(b.Board)+"/rewards", nil, &t) != nil {
		return nil
	}
	label := "none"
	if n := len(t.Bands); n == 1 {
		label = "1 band"
	} else if n > 1 {
		label = strconv.Itoa(n) + " bands"
	}
	return []fact{{"Rewards", to(rewardsHref(b.Board), label)}}
}
