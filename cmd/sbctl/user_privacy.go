package main

import (
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newUserPrivacyCmd(p *program) *cobra.Command {
	return newNounCmd("privacy", "Show and set who sees a user on boards", `
  sbctl user privacy get alice
  sbctl user privacy set alice pseudonym`,
		newUserPrivacyGetCmd(p), withReason(newUserPrivacySetCmd(p)))
}

func newUserPrivacyGetCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "get USER", Short: "Show who sees a user on boards", Args: exactArgs("USER"),
		Example: trimExamples(`
  sbctl user privacy get alice
  sbctl user privacy get alice --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			kept, err := c.Privacy(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(kept, func() *table { return userPrivacyTable(&kept) })
		}),
	}
}

func newUserPrivacySetCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "set USER public|friends|pseudonym|private", Short: "Set who sees a user on boards",
		Args: exactArgs("USER", "VISIBILITY"),
		Long: `Set who sees a user's id, display name and avatar on boards: everyone (public), friends,
or nobody else (pseudonym). Others see a pseudonym. Ranks and scores stay. With private,
the user leaves all boards for at least 10 seconds; friends still see the user, who can
keep submitting scores. Users may set their own; operators (score:operate) may set anyone's, and
the audit trail records that they did.`,
		Example: trimExamples(`
  sbctl user privacy set alice private
  sbctl user privacy set alice public --reason "requested by e-mail"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			kept, err := c.SetPrivacy(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return p.print(kept, func() *table { return userPrivacyTable(&kept) })
		}),
	}
}

func userPrivacyTable(kept *client.Privacy) *table {
	t := newTable()
	t.add("user", kept.UserID)
	t.add("visibility", kept.Visibility)
	t.add("changed", timeCell(kept.ChangedAt))
	if kept.Pending {
		t.add("pending", "some boards do not reflect it yet")
	}
	return t
}
