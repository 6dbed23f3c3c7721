package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newLeagueCmd(p *program) *cobra.Command {
	return newNounCmd("league", "Show places, cohorts and outcomes of leagues", `
  sbctl league place weekly --user ada
  sbctl league cohort weekly 4711`,
		newLeaguePlaceCmd(p), newLeagueCohortCmd(p), newLeagueCohortsCmd(p), newLeagueHistoryCmd(p),
		newLeagueRecomputeCmd(p))
}

func newLeaguePlaceCmd(p *program) *cobra.Command {
	var user string
	var k int
	cmd := &cobra.Command{
		Use: "place NAME", Short: "Show where a player is in a league", Args: exactArgs("NAME"),
		Long: `Show where a player is in the current period of a league, or in a period: division, cohort, rank
in it, what that would lead to at the end, and the time left.`,
		Example: trimExamples(`
  sbctl league place weekly
  sbctl league place weekly --user ada -k 2 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			place, err := c.LeaguePlace(cmd.Context(), args[0], user, k)
			if err != nil {
				return err
			}
			return p.print(place, func() *table { return leaguePlaceTable(&place) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&user, "user", "", "player, instead of the token's user")
	f.IntVarP(&k, "neighbours", "k", 0, "number of players to show on each side, 0 to 50")
	return cmd
}

func leaguePlaceTable(place *client.LeaguePlace) *table {
	t := newTable()
	t.add("user", place.UserID)
	t.add("period", place.Board)
	t.add("division", fmt.Sprintf("%d of %d", place.Division, place.Divisions))
	switch place.State {
	case "placed":
		t.add("cohort", strconv.FormatInt(place.Cohort, 10))
	case "waiting":
		t.add("cohort", "when the period before has been decided")
	default:
		t.add("cohort", "none: nothing was submitted in this period")
	}
	if place.Rank > 0 {
		t.add("rank", fmt.Sprintf("%s of %s", number(place.Rank), number(place.Players)))
		t.add("score", number(*place.Score))
		addSubscore(t, "subscore", place.Subscore)
		t.add("zone", place.Zone)
	}
	t.add("time left", (time.Duration(place.SecondsLeft) * time.Second).String())
	for _, e := range place.Neighbours {
		t.add("#"+number(e.Rank), strings.TrimSpace(e.UserID+" "+number(e.Score)+" "+subscoreCell(e.Subscore)))
	}
	return t
}

func newLeagueCohortCmd(p *program) *cobra.Command {
	var after int64
	var limit int
	cmd := &cobra.Command{
		Use: "cohort NAME ID", Short: "List the standings of a cohort", Args: exactArgs("NAME", "ID"),
		Example: trimExamples(`
  sbctl league cohort weekly 4711
  sbctl league cohort weekly:2026-w47 4711 --limit 10 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("cohort", args[1])
			if err != nil {
				return err
			}
			page, err := c.Cohort(cmd.Context(), args[0], id, after, limit)
			if err != nil {
				return err
			}
			if !p.structured() {
				p.infof("division %d of %s: %s; %d move up and %d down", page.Division, page.Board,
					english.Count(page.Players, "player"), page.Promote, page.Relegate)
				if page.NextAfter > 0 {
					p.infof("more: --after %d", page.NextAfter)
				}
			}
			return p.print(page, func() *table {
				t := newTable(">RANK", "USER", ">SCORE", ">SUBSCORE")
				for _, e := range page.Entries {
					t.add(number(e.Rank), e.UserID, number(e.Score), subscoreCell(e.Subscore))
				}
				return t.withoutEmpty("SUBSCORE")
			})
		}),
	}
	f := cmd.Flags()
	f.Int64Var(&after, "after", 0, "continue after this rank")
	f.IntVar(&limit, "limit", 0, "number of players, 1 to 200 (default all)")
	return cmd
}

func newLeagueCohortsCmd(p *program) *cobra.Command {
	var division, limit int
	var after int64
	cmd := &cobra.Command{
		Use: "cohorts NAME", Short: "List the cohorts of a league, and how full they are", Args: exactArgs("NAME"),
		Long: `List the cohorts of the current period of a league, or of a period, in the order in which they
were opened: how many players have a place, and how many of them would move if all were ranked.`,
		Example: trimExamples(`
  sbctl league cohorts weekly --division 2
  sbctl league cohorts weekly:2026-w47 --limit 1000 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			page, err := c.Cohorts(cmd.Context(), args[0], division, after, limit)
			if err != nil {
				return err
			}
			if !p.structured() && page.NextAfter > 0 {
				p.infof("more: --after %d", page.NextAfter)
			}
			return p.print(page, func() *table {
				t := newTable(">COHORT", ">DIVISION", ">PLAYERS", ">SIZE", "ATTRIBUTE", "FULL", ">UP", ">DOWN")
				for _, f := range page.Cohorts {
					t.add(number(f.Cohort), strconv.Itoa(f.Division), number(f.Players), number(f.Size), f.Attribute,
						strconv.FormatBool(f.Full), strconv.Itoa(f.Promote), strconv.Itoa(f.Relegate))
				}
				return t.withoutEmpty("ATTRIBUTE")
			})
		}),
	}
	f := cmd.Flags()
	f.IntVar(&division, "division", 0, "only cohorts of this division; 1 is the lowest")
	f.Int64Var(&after, "after", 0, "continue after this cohort")
	f.IntVar(&limit, "limit", 100, "number of cohorts, 1 to 1000")
	return cmd
}

func newLeagueHistoryCmd(p *program) *cobra.Command {
	var q client.LeagueQuery
	cmd := &cobra.Command{
		Use: "history", Short: "List what the ends of periods have decided about a player, newest first",
		Args: exactArgs(),
		Example: trimExamples(`
  sbctl league history --user ada
  sbctl league history --user ada --league weekly --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.LeagueHistory(cmd.Context(), q)
			if err != nil {
				return err
			}
			if !p.structured() && page.NextBefore > 0 {
				p.infof("more: --before %d", page.NextBefore)
			}
			return p.print(page, func() *table {
				t := newTable("PERIOD", ">COHORT", ">RANK", ">FROM", ">TO", "DECIDED")
				for _, o := range page.Outcomes {
					cohort, rank := "", "idle"
					if o.Cohort > 0 {
						cohort, rank = strconv.FormatInt(o.Cohort, 10), "no standing"
					}
					if o.Rank > 0 {
						rank = fmt.Sprintf("%d of %d", o.Rank, o.Players)
					}
					t.add(o.Board, cohort, rank, strconv.Itoa(o.From), strconv.Itoa(o.To),
						o.DecidedAt.Format(time.RFC3339))
				}
				return t
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.User, "user", "", "player, instead of the token's user")
	f.StringVar(&q.League, "league", "", "only periods of this league")
	f.Int64Var(&q.Before, "before", 0, "continue before the last outcome of the previous page")
	f.IntVar(&q.Limit, "limit", 100, "number of outcomes, 1 to 1000")
	return cmd
}

func newLeagueRecomputeCmd(p *program) *cobra.Command {
	var r client.LeagueRecomputeRequest
	cmd := &cobra.Command{
		Use: "recompute PERIOD", Short: "Recompute who moves, without reversed events", Args: exactArgs("PERIOD"),
		Long: `Recompute the outcomes of a period of a league from the ledger, without the events that reversals
and voids name, and list the players whose outcomes differ. With --apply, move them, as a new
revision of the outcomes; the audit trail has an entry for each page of cohorts. The sealed
standings stay as they are.`,
		Example: trimExamples(`
  sbctl league recompute weekly:2026-w47
  sbctl league recompute weekly:2026-w47 --apply --reason "void 12" --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if r.Apply && r.Reason == "" {
				return usagef("--apply needs --reason")
			}
			var all client.LeagueRecomputed
			for {
				page, err := c.RecomputeLeague(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				all.Board, all.Applied = page.Board, page.Applied
				all.Players = append(all.Players, page.Players...)
				if r.After = page.NextAfter; r.After == 0 {
					break
				}
			}
			if !p.structured() && !r.Apply && len(all.Players) > 0 {
				p.infof("nothing was changed; --apply moves these players")
			}
			return p.print(all, func() *table {
				t := newTable("USER", ">COHORT", ">DIVISION", ">RANK BEFORE", ">RANK", ">MOVE BEFORE", ">MOVE")
				for _, f := range all.Players {
					t.add(f.UserID, strconv.FormatInt(f.Cohort, 10), strconv.Itoa(f.Division), number(f.RankBefore),
						number(f.Rank), strconv.Itoa(f.MoveBefore), strconv.Itoa(f.Move))
				}
				return t
			})
		}),
	}
	cmd.Flags().BoolVar(&r.Apply, "apply", false, "move the players, as a new revision")
	addReasonFlag(cmd, &r.Reason)
	return cmd
}

// leagueFlags describe the league of a new board.
type leagueFlags struct {
	league            client.League
	promote, relegate int
}

func (l *leagueFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&l.league.Divisions, "divisions", 0, "make the board a league with this number of divisions, 2 to 20")
	f.IntVar(&l.league.CohortSize, "cohort-size", 50, "maximum number of players of a cohort of the league, 2 to 200")
	f.IntVar(&l.league.Min, "cohort-min", 10, "number of players that a cohort needs for anyone to move")
	f.IntVar(&l.promote, "promote", 10, "how many of a cohort move up")
	f.IntVar(&l.relegate, "relegate", 5, "how many of a cohort move down")
	f.StringVar(&l.league.Idle, "idle", "stay", "what happens to players without a submission: stay or relegate")
	f.StringVar(&l.league.Fill, "fill", "order", `how cohorts fill: order, or "attribute NAME"`)
}

// apply adds the league to a request if there is one. What is not given is the server's default.
func (l *leagueFlags) apply(cmd *cobra.Command, r *client.BoardRequest) error {
	given := cmd.Flags().Changed
	if !given("divisions") {
		for _, name := range []string{"cohort-size", "cohort-min", "promote", "relegate", "idle", "fill"} {
			if given(name) {
				return usagef("--%s is for leagues; add --divisions", name)
			}
		}
		return nil
	}
	league := l.league
	if !given("cohort-size") {
		league.CohortSize = 0
	}
	if !given("cohort-min") {
		league.Min = 0
	}
	if given("promote") {
		league.Promote = &l.promote
	}
	if given("relegate") {
		league.Relegate = &l.relegate
	}
	r.League = &league
	return nil
}

// leagueCell describes the league of a board; "" for none.
func leagueCell(b *client.Board) string {
	if b.League == nil {
		return ""
	}
	return b.League.String()
}
