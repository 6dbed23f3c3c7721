package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newTeamCmd(p *program) *cobra.Command {
	return newNounCmd("team", "Manage the members of teams", `
  sbctl team add clans ants alice
  sbctl team list clans`,
		newTeamAddCmd(p), newTeamListCmd(p), newTeamMembersCmd(p), newTeamRemoveCmd(p))
}

func newTeamAddCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "add BOARD TEAM USER", Short: "Add a user to a team", Args: exactArgs("BOARD", "TEAM", "USER"),
		Long: `Add a user to a team of a board. A user is in at most one team of a board: this ends the
membership of another one. The first member creates the team.`,
		Example: trimExamples(`
  sbctl team add clans ants alice
  sbctl team add clans ants alice --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			m, err := c.JoinTeam(cmd.Context(), args[0], args[1], args[2])
			if err != nil {
				return err
			}
			return p.print(m, func() *table { return membersTable(m) })
		}),
	}
}

func newTeamRemoveCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "remove BOARD TEAM USER", Short: "Remove a user from a team", Args: exactArgs("BOARD", "TEAM", "USER"),
		Example: trimExamples(`
  sbctl team remove clans ants alice
  sbctl team remove clans ants alice --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			m, err := c.LeaveTeam(cmd.Context(), args[0], args[1], args[2])
			if err != nil {
				return err
			}
			return p.print(m, func() *table { return membersTable(m) })
		}),
	}
}

func membersTable(members ...client.TeamMember) *table {
	t := newTable("USER", "TEAM", "JOINED", ">SCORE THEN", "LEFT", ">SCORE THEN")
	for _, m := range members {
		score := ""
		if m.LeftScore != nil {
			score = number(*m.LeftScore)
		}
		t.add(m.UserID, m.Team, timeCell(&m.JoinedAt), number(m.JoinedScore), timeCell(m.LeftAt), score)
	}
	return t
}

func newTeamListCmd(p *program) *cobra.Command {
	var q client.TeamsQuery
	cmd := &cobra.Command{
		Use: "list BOARD", Short: "List the teams of a board", Args: exactArgs("BOARD"),
		Example: trimExamples(`
  sbctl team list clans
  sbctl team list clans --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			page, err := c.Teams(cmd.Context(), args[0], q)
			if err != nil {
				return err
			}
			err = p.print(page, func() *table {
				t := newTable("TEAM", "USER", ">MEMBERS", "CREATED")
				for _, team := range page.Teams {
					t.add(team.Team, team.UserID, strconv.Itoa(team.Members), timeCell(&team.CreatedAt))
				}
				return t
			})
			if err == nil && !p.structured() && page.NextAfter != "" {
				p.infof("more: --after %s", page.NextAfter)
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.After, "after", "", "continue after the last team of the previous page")
	flags.IntVar(&q.Limit, "limit", 100, "number of teams, 1 to 1000")
	return cmd
}

func newTeamMembersCmd(p *program) *cobra.Command {
	var q client.TeamMembersQuery
	cmd := &cobra.Command{
		Use: "members BOARD TEAM", Short: "List the members of a team", Args: exactArgs("BOARD", "TEAM"),
		Example: trimExamples(`
  sbctl team members clans ants
  sbctl team members clans ants --history --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			page, err := c.TeamMembers(cmd.Context(), args[0], args[1], q)
			if err != nil {
				return err
			}
			if err := p.print(page, func() *table { return membersTable(page.Members...) }); err != nil {
				return err
			}
			if !p.structured() && page.NextAfter != 0 {
				p.infof("more: --after %d", page.NextAfter)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&q.History, "history", false, "list memberships that have ended too")
	flags.Int64Var(&q.After, "after", 0, "continue after the `id` that the previous page printed")
	flags.IntVar(&q.Limit, "limit", 100, "number of memberships, 1 to 1000")
	return cmd
}

// teamFlags are the flags of a board of teams.
type teamFlags struct{ source, aggregate, moves string }

func (f *teamFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.source, "team-of", "", "rank teams by what their members have on this `board`")
	flags.StringVar(&f.aggregate, "aggregate", "sum",
		"score of a team: sum, average or best:N, the sum of the N best members")
	flags.StringVar(&f.moves, "moves", "with-points",
		"what counts: from-now (what users gain while they are members) or with-points (the whole score of members)")
}

// apply sets the rule of a request, if the board is to rank teams.
func (f *teamFlags) apply(cmd *cobra.Command, r *client.BoardRequest) error {
	flags := cmd.Flags()
	if f.source == "" {
		for _, name := range []string{"aggregate", "moves"} {
			if flags.Changed(name) {
				return usagef("--%s requires --team-of", name)
			}
		}
		return nil
	}
	for name, to := range map[string]*string{"mode": &r.Mode, "order": &r.Order} {
		if !flags.Changed(name) {
			*to = "" // those of a board of teams follow from its source
		}
	}
	rule := &client.TeamRule{Source: f.source, Aggregate: f.aggregate, Moves: strings.ReplaceAll(f.moves, "-", "_")}
	if count, is := strings.CutPrefix(f.aggregate, "best:"); is {
		n, err := strconv.Atoi(count)
		if err != nil {
			return usagef("invalid --aggregate %q: want sum, average or best:N", f.aggregate)
		}
		rule.Aggregate, rule.Best = "best", n
	}
	r.Team = rule
	return nil
}

// teamCell describes the rule of a board of teams; "" for another board.
func teamCell(b *client.Board) string {
	if b.Team == nil {
		return ""
	}
	aggregate := b.Team.Aggregate
	if b.Team.Best != 0 {
		aggregate += ":" + strconv.Itoa(b.Team.Best)
	}
	return fmt.Sprintf("%s of %s, %s", aggregate, b.Team.Source, strings.ReplaceAll(b.Team.Moves, "_", "-"))
}
