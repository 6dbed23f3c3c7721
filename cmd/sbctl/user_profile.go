package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

func newUserProfileCmd(p *program) *cobra.Command {
	return newNounCmd("profile", "Show and set a user's display name and avatar", `
  sbctl user profile get alice
  sbctl user profile set alice --display-name "Alice the Great"`,
		newUserProfileGetCmd(p), withReason(newUserProfileSetCmd(p)))
}

func newUserProfileGetCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "get USER", Short: "Show a user's display name and avatar", Args: exactArgs("USER"),
		Example: trimExamples(`
  sbctl user profile get alice
  sbctl user profile get alice --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			kept, err := c.Profile(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(kept, func() *table { return userProfileTable(&kept) })
		}),
	}
}

func newUserProfileSetCmd(p *program) *cobra.Command {
	var name, avatar string
	cmd := &cobra.Command{
		Use: "set USER", Short: "Set a user's display name and avatar", Args: exactArgs("USER"),
		Long: `Set a user's display name and avatar. A value that is not given stays; an empty one is
removed. Users may set their own; operators (score:operate) may set anyone's, and the
audit trail records that they did.`,
		Example: trimExamples(`
  sbctl user profile set alice --display-name "Alice the Great"
  sbctl user profile set mallory --display-name "" --reason "an offensive name"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			given := cmd.Flags().Changed
			if !given("display-name") && !given("avatar-url") {
				return usagef("nothing to change; pass --display-name or --avatar-url")
			}
			put := client.Profile{DisplayName: name, AvatarURL: avatar}
			if given("display-name") != given("avatar-url") && !p.curl {
				old, err := c.Profile(cmd.Context(), args[0])
				if err != nil && wire.CodeOf(err) != wire.CodeNotFound {
					return err
				}
				if given("display-name") {
					put.AvatarURL = old.AvatarURL
				} else {
					put.DisplayName = old.DisplayName
				}
			}
			kept, err := c.PutProfile(cmd.Context(), args[0], put)
			if err != nil {
				return err
			}
			return p.print(kept, func() *table { return userProfileTable(&kept) })
		}),
	}
	cmd.Flags().StringVar(&name, "display-name", "", "name to show, up to 32 characters")
	cmd.Flags().StringVar(&avatar, "avatar-url", "", "https address of a picture")
	return cmd
}

func userProfileTable(kept *client.Profile) *table {
	t := newTable()
	t.add("user", kept.UserID)
	t.add("display name", cmp.Or(kept.DisplayName, "none"))
	t.add("avatar", cmp.Or(kept.AvatarURL, "none"))
	t.add("updated", timeCell(&kept.UpdatedAt))
	return t
}
