package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newTournamentCmd(p *program) *cobra.Command {
	return newNounCmd("tournament", "Join and leave periods of boards that require it, and manage their players", `
  sbctl tournament join cup
  sbctl tournament players cup:spring`,
		newParticipationCmd(p, "show", "Show how many have joined a period, and whether a user has",
			"user to show, instead of the token's; needs the scope score:update or score:operate",
			(*client.Client).Participation),
		newParticipationCmd(p, "join", "Have a user join a period; a repeat changes nothing",
			"user who joins, instead of the token's; needs the scope score:update", (*client.Client).JoinBoard),
		newParticipationCmd(p, "leave", "Have a user leave a period before it begins",
			"user who leaves, instead of the token's; needs the scope score:update", (*client.Client).LeaveBoard),
		newPlayersCmd(p),
		withReason(newPlayerChangeCmd(p, "add", "Add a user to a period, also after it has begun", "",
			(*client.Client).AddPlayer)),
		withReason(newPlayerChangeCmd(p, "remove", "Remove a user from a period, also after it has begun",
			"Remove %s from %s? What the user has scored stays; later submissions are rejected.",
			(*client.Client).RemovePlayer)))
}

// newParticipationCmd returns a command about one user and a period: that of the name, or of a board the next one.
func newParticipationCmd(
	p *program, verb, short, userFlag string,
	do func(*client.Client, context.Context, string, string) (client.Participation, error),
) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Args: exactArgs("NAME"),
		Long: short + `.

NAME is a period, such as cup:spring, or a board, which means the next period that allows it.`,
		Example: trimExamples(`
  sbctl tournament ` + verb + ` cup
  sbctl tournament ` + verb + ` cup:spring --user ada --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			state, err := do(c, cmd.Context(), args[0], user)
			if err != nil {
				return err
			}
			return p.print(state, func() *table { return participationTable(&state) })
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", userFlag)
	return cmd
}

func participationTable(s *client.Participation) *table {
	t := newTable()
	t.add("period", s.Board)
	t.add("starts", timeCell(&s.StartsAt))
	t.add("ends", timeCell(&s.EndsAt))
	players := number(s.Players)
	if s.MaxPlayers > 0 {
		players += " of " + number(s.MaxPlayers)
	}
	t.add("players", players)
	if s.UserID != "" {
		t.add("user", s.UserID)
		t.add("joined", strconv.FormatBool(s.Joined))
	}
	if s.JoinedAt != nil {
		t.add("joined at", timeCell(s.JoinedAt))
	}
	return t
}

func newPlayersCmd(p *program) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use: "players PERIOD", Short: "List the users who have joined a period", Args: exactArgs("PERIOD"),
		Long: "List the users who have joined a period, by user. It needs the scope score:operate.",
		Example: trimExamples(`
  sbctl tournament players cup:spring
  sbctl tournament players cup:spring --after ada --limit 1000 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			page, err := c.Players(cmd.Context(), args[0], after, limit)
			if err != nil {
				return err
			}
			if !p.structured() && page.NextAfter != "" {
				p.infof("more: --after %s", page.NextAfter)
			}
			return p.print(page, func() *table {
				t := newTable("USER", "JOINED")
				for _, player := range page.Players {
					t.add(player.UserID, player.JoinedAt.Format(time.RFC3339))
				}
				return t
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&after, "after", "", "continue after the last user of the previous page")
	f.IntVar(&limit, "limit", 100, "number of players, 1 to 1000")
	return cmd
}

// newPlayerChangeCmd returns a command that changes the players of a period, after a confirmation if question is set.
func newPlayerChangeCmd(
	p *program, verb, short, question string,
	do func(*client.Client, context.Context, string, string) (client.Participation, error),
) *cobra.Command {
	second := "--output json"
	if question != "" {
		second = "--yes"
	}
	return &cobra.Command{
		Use: verb + " PERIOD USER", Short: short, Args: exactArgs("PERIOD", "USER"),
		Example: trimExamples(`
  sbctl tournament ` + verb + ` cup:spring ada
  sbctl tournament ` + verb + ` cup:spring ada --reason "ticket 4711" ` + second),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if question != "" {
				if err := p.confirm(cmd.Context(), fmt.Sprintf(question, args[1], args[0])); err != nil {
					return err
				}
			}
			state, err := do(c, cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return p.print(state, func() *table { return participationTable(&state) })
		}),
	}
}
