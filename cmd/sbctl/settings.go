package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newSettingsCmd(p *program) *cobra.Command {
	return newNounCmd("settings", "Show and change settings", `
  sbctl settings list
  sbctl settings get limit.updates_per_minute
  sbctl settings set limit.updates_per_minute 20 --reason "a busy weekend"`,
		newSettingsListCmd(p), newSettingsGetCmd(p), newSettingsSetCmd(p))
}

func newSettingsListCmd(p *program) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use: "list", Short: "List settings with their values and sources", Args: exactArgs(),
		Long: `List settings with their values and sources. "sbctl settings set" changes those that
are LIVE while the server runs; the others are read at its start.`,
		Example: trimExamples(`
  sbctl settings list --live
  sbctl settings list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Settings(cmd.Context())
			if err != nil {
				return err
			}
			listed := all[:0]
			for _, s := range all {
				if s.Live || !live {
					listed = append(listed, s)
				}
			}
			return p.print(listed, func() *table { return settingsTable(listed...) })
		}),
	}
	cmd.Flags().BoolVar(&live, "live", false, "only settings that can change while the server runs")
	return cmd
}

func newSettingsGetCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show a setting with its value and source", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl settings get limit.updates_per_minute
  sbctl settings get limit.updates_per_minute --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			all, err := c.Settings(cmd.Context())
			if err != nil {
				return err
			}
			names := make([]string, len(all))
			for i, s := range all {
				if names[i] = s.Name; s.Name == args[0] {
					return p.print(s, func() *table { return settingsTable(s) })
				}
			}
			return &hintedError{fmt.Errorf("unknown setting %s", args[0]), settingsHint(args[0], names)}
		}),
	}
}

func settingsTable(settings ...client.Setting) *table {
	t := newTable("SETTING", "VALUE", "SOURCE", "LIVE", "CHANGED", "BY")
	for _, s := range settings {
		t.add(s.Name, s.Value, s.Source, yesOrNo(s.Live), timeCell(s.ChangedAt), s.ChangedBy)
	}
	return t
}

func newSettingsSetCmd(p *program) *cobra.Command {
	var reset bool
	var r client.SettingsRequest
	cmd := &cobra.Command{
		Use:   "set NAME VALUE [NAME VALUE]…",
		Short: "Change settings on all nodes, or reset them to the deployed values",
		Long: `Change settings on all nodes, within two seconds. A value set here overrides flag,
environment and file. --reset, with names alone, restores the deployed values.
Several settings change together or not at all, such as an identity provider's key
set and its issuer. If one value is invalid, nothing changes.

A change after which your token would no longer be accepted is rejected, because you
could not undo it: use a token that is valid before and after, or --force.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("NAME is required")
			case !reset && len(args) == 1:
				return usagef("VALUE is required")
			case !reset && len(args)%2 == 1:
				return usagef("%s has no value", args[len(args)-1])
			}
			return nil
		},
		Example: trimExamples(`
  sbctl settings set limit.updates_per_minute 20 --reason "a busy weekend"
  sbctl settings set auth.jwks_url https://id.example/keys auth.issuer https://id.example`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			for len(args) > 0 {
				change := client.SettingChange{Name: args[0], Reset: reset}
				if args = args[1:]; !reset {
					change.Value, args = &args[0], args[1:]
				}
				r.Settings = append(r.Settings, change)
			}
			changed, err := c.ChangeSettings(cmd.Context(), r)
			if err != nil {
				return err
			}
			show := func() *table { return settingsTable(changed...) }
			if len(changed) == 1 {
				return p.print(changed[0], show)
			}
			return p.print(changed, show)
		}),
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "restore the deployed values")
	cmd.Flags().BoolVar(&r.Force, "force", false, "change them even if your token is not accepted afterwards")
	addReasonFlag(cmd, &r.Reason)
	return cmd
}
