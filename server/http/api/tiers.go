package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// parseTiers returns the tiers that a request describes, without checking them.
func parseTiers(in []wire.Tier) (scoreboard.Tiers, error) {
	var out scoreboard.Tiers
	for i := range in {
		t := scoreboard.Tier{Name: in[i].Name, Rank: in[i].Rank, Score: (*scoreboard.Score)(in[i].Score)}
		if in[i].Percentile != 0 {
			var err error
			if t.Percent, err = scoreboard.ParsePercent(in[i].Percentile); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func tiersJSON(tiers scoreboard.Tiers) []wire.Tier {
	var out []wire.Tier
	for i := range tiers {
		t := &tiers[i]
		out = append(out, wire.Tier{
			Name: t.Name, Rank: t.Rank, Percentile: t.Percentile(), Score: (*int64)(t.Score),
		})
	}
	return out
}

// addTier adds the tier of a standing, and the way to the next.
func addTier(out *wire.Place, p *scoreboard.Place, board *scoreboard.Board) {
	if len(board.Tiers) == 0 {
		return
	}
	own := board.Tiers.Of(board.Order, p.Rank, p.Total, p.Score)
	out.Tier = board.Tiers.Name(own)
	if next := board.Tiers.Next(own, board.Order, p.Rank, p.Total, p.Score); next != nil {
		out.NextTier = &wire.NextTier{Name: next.Tier.Name, Ranks: next.Ranks, Points: next.Points}
	}
}

// queryTier returns the index of the tier of the query, or -1 without one. Parameters that make
// no sense with it must be absent.
func queryTier(c *gin.Context, board *scoreboard.Board) (int, error) {
	name := c.Query("tier")
	if name == "" {
		return -1, nil
	}
	for _, other := range []string{"min_version", "wait", "after", "at", "as"} {
		if c.Query(other) != "" {
			return -1, scoreboard.Invalid(other, "%s cannot be combined with tier", other)
		}
	}
	i := board.Tiers.Find(name)
	if i < 0 {
		return -1, scoreboard.Errorf(wire.CodeNotFound, "board %s has no tier %q", board.ID, name)
	}
	return i, nil
}

// topOfTier answers with the users in a tier, best first.
func (h *topReads) topOfTier(c *gin.Context, caller *auth.Claims, q topQuery) error {
	page, more, err := h.tiers.TierPage(c.Request.Context(), q.board, q.tier, q.after, q.limit)
	if err != nil {
		return err
	}
	if operators := forOperators(caller, page); operators != nil {
		page = operators
	}
	c.Header("Cache-Control", "no-store")
	out := h.pages.topJSON(page, q.board, q.limit)
	h.metadata.addToTop(c.Request.Context(), q.board, out, time.Time{})
	if !more {
		out.NextCursor = ""
	}
	before, after := out.AppendAround(make([]byte, 0, 256+96*len(out.Entries)))
	respondJSON(c, http.StatusOK, append(strconv.AppendInt(before, h.now.age(page.AsOf), 10), after...))
	return nil
}
