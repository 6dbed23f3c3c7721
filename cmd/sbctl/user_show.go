package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newUserShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show USER", Short: "Show what a user is, since when and why, with scores and flags", Args: takes("USER"),
		Example: trimExamples(`
  sbctl user show mallory
  sbctl user show mallory --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			u, err := c.User(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(u, func() *table { return userTable(&u) })
		}),
	}
}

func userTable(u *client.User) *table {
	t := newTable()
	t.add("user", u.UserID)
	t.add("status", u.Status)
	if u.Since != nil {
		t.add("since", timeCell(u.Since))
		t.add("by", tui.Printable(u.By))
		t.add("because", tui.Printable(u.Reason))
	}
	t.add("created", timeCell(&u.CreatedAt))
	t.add("open flags", fmt.Sprint(u.OpenFlags))
	for _, s := range u.Scores {
		hidden := ""
		if s.Hidden {
			hidden = ", hidden"
		}
		t.add("on "+s.Board, fmt.Sprintf("%d since %s%s", s.Score, s.ReachedAt.Format(time.RFC3339), hidden))
	}
	return t
}
