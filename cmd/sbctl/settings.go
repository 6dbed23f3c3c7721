package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newSettingsCmd(p *program) *cobra.Command {
	return newNounCmd("knobs", "See how the server is set, and turn what can be turned while it runs", `
  sbctl knobs list
  sbctl knobs set limit.updates_per_minute 20 --reason "a busy weekend"`,
		newSettingsListCmd(p), newSettingsSetCmd(p))
}

func newSettingsListCmd(p *program) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the knobs as they are in force, and where from", Args: takes(),
		Long: `List the knobs as they are in force, and where from. Those that are LIVE can be
turned while the server runs, by "sbctl knobs set"; the others are read when it starts.`,
		Example: trimExamples(`
  sbctl knobs list --live
  sbctl knobs list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Settings(cmd.Context())
			if err != nil {
				return err
			}
			knobs := all[:0]
			for _, k := range all {
				if k.Live || !live {
					knobs = append(knobs, k)
				}
			}
			return p.print(knobs, func() *table { return settingsTable(knobs...) })
		}),
	}
	cmd.Flags().BoolVar(&live, "live", false, "only those that can be turned while the server runs")
	return cmd
}

func settingsTable(knobs ...client.Setting) *table {
	t := newTable("KNOB", "VALUE", "FROM", "LIVE", "CHANGED", "BY")
	for _, k := range knobs {
		changed := ""
		if k.ChangedAt != nil {
			changed = k.ChangedAt.Format(time.RFC3339)
		}
		live := "no"
		if k.Live {
			live = "yes"
		}
		t.add(k.Name, tui.Printable(k.Value), k.Source, live, changed, tui.Printable(k.ChangedBy))
	}
	return t
}

func newSettingsSetCmd(p *program) *cobra.Command {
	var reset bool
	var r client.SettingsRequest
	cmd := &cobra.Command{
		Use: "set NAME VALUE [NAME VALUE]…", Short: "Turn knobs on all nodes, within two seconds, or back to what was deployed",
		Long: `Turn knobs on all nodes, within two seconds. What is set here is over flag,
environment and file, until --reset, with names alone, puts back what was
deployed. Several are turned together: an identity provider's key set and its
issuer, say. A value that cannot be is refused, and nothing changes.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("NAME is missing")
			case !reset && len(args) == 1:
				return usagef("VALUE is missing")
			case !reset && len(args)%2 == 1:
				return usagef("the value of %s is missing", args[len(args)-1])
			}
			return nil
		},
		Example: trimExamples(`
  sbctl knobs set limit.updates_per_minute 20 --reason "a busy weekend"
  sbctl knobs set auth.jwks_url https://id.example/keys auth.issuer https://id.example`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			for len(args) > 0 {
				turn := client.SettingChange{Name: args[0], Reset: reset}
				if args = args[1:]; !reset {
					turn.Value, args = &args[0], args[1:]
				}
				r.Settings = append(r.Settings, turn)
			}
			knobs, err := c.ChangeSettings(cmd.Context(), r)
			if err != nil {
				return err
			}
			show := func() *table { return settingsTable(knobs...) }
			if len(knobs) == 1 {
				return p.print(knobs[0], show)
			}
			return p.print(knobs, show)
		}),
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "back to what was deployed")
	addReasonFlag(cmd, &r.Reason)
	return cmd
}
