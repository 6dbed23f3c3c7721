package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newFriendCmd(p *program) *cobra.Command {
	return newNounCmd("friend", "Manage the friends of the token's user, and rank them", `
  sbctl friend ask bob
  sbctl friend top`,
		newFriendAskCmd(p), newFriendListCmd(p), newFriendRemoveCmd(p), newFriendTopCmd(p))
}

func newFriendAskCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "ask USER", Short: "Ask a user to be a friend, or accept a request", Args: exactArgs("USER"),
		Long: `Ask a user to be a friend of the token's user, or accept that user's request. Two users
are friends once both have asked. The answer does not tell whether the user exists.`,
		Example: trimExamples(`
  sbctl friend ask bob
  sbctl friend ask bob --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			f, err := c.AskFriend(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(f, func() *table { return friendsTable(f) })
		}),
	}
}

func newFriendRemoveCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "remove USER", Short: "End a friendship, take back a request or decline one", Args: exactArgs("USER"),
		Example: trimExamples(`
  sbctl friend remove bob
  sbctl friend remove bob --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			f, err := c.RemoveFriend(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(f, func() *table { return friendsTable(f) })
		}),
	}
}

func friendsTable(friends ...client.Friend) *table {
	t := newTable("USER", "STATE", "SINCE")
	for _, f := range friends {
		t.add(f.UserID, f.State, timeCell(f.Since))
	}
	return t
}

func newFriendListCmd(p *program) *cobra.Command {
	var q client.FriendsQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List friends, or requests", Args: exactArgs(),
		Example: trimExamples(`
  sbctl friend list
  sbctl friend list --state received --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Friends(cmd.Context(), q)
			if err != nil {
				return err
			}
			if err := p.print(page, func() *table { return friendsTable(page.Friends...) }); err != nil {
				return err
			}
			if !p.structured() && page.NextAfter != "" {
				p.infof("more: --after %s", page.NextAfter)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.State, "state", "mutual", "mutual: friends; requested: users asked; received: users who asked")
	flags.StringVar(&q.After, "after", "", "continue after the last user of the previous page")
	flags.IntVar(&q.Limit, "limit", 100, "number of users, 1 to 500")
	return cmd
}

func newFriendTopCmd(p *program) *cobra.Command {
	var board string
	cmd := &cobra.Command{
		Use: "top", Short: "Rank the token's user among friends", Args: exactArgs(),
		Long: `Rank the token's user among friends. LIST RANK is the rank among them, RANK the one on the
board.`,
		Example: trimExamples(`
  sbctl friend top
  sbctl friend top --board arena --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := c.FriendsTop(cmd.Context(), board)
			if err != nil {
				return err
			}
			if !p.structured() {
				all := len(list.Entries) + len(list.NotFound)
				p.infof("%s: %d of %s, %v old%s", list.Board, len(list.Entries), english.Count(int64(all), "user"),
					ms(list.AgeMS), degradedNote(list.Degraded, list.DegradedReason))
			}
			return p.print(list, func() *table {
				t := newTable(">LIST RANK", ">RANK", "USER", ">SCORE", ">SUBSCORE")
				for _, e := range list.Entries {
					t.add(strconv.Itoa(e.ListRank), number(e.Rank), shownName(e.Entry), number(e.Score),
						subscoreCell(e.Subscore))
				}
				return t.withoutEmpty("SUBSCORE")
			})
		}),
	}
	addBoardFlag(cmd, &board)
	return repeatable(p.connector, p.output, cmd)
}
