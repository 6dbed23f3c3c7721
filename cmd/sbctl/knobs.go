package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newKnobsCmd(p *program) *cobra.Command {
	return newNounCmd("knobs", "See how the server is set, and turn what can be turned while it runs", `
  sbctl knobs list
  sbctl knobs set limit.updates_per_minute 20 --reason "a busy weekend"`,
		newKnobsListCmd(p), newKnobsSetCmd(p))
}

func newKnobsListCmd(p *program) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the knobs as they are in force, and where from", Args: takes(),
		Long: `List the knobs as they are in force, and where from. Those that are LIVE can be
turned while the server runs, by "sbctl knobs set"; the others are read when it starts.`,
		Example: trimExamples(`
  sbctl knobs list --live
  sbctl knobs list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Knobs(cmd.Context())
			if err != nil {
				return err
			}
			knobs := all[:0]
			for _, k := range all {
				if k.Live || !live {
					knobs = append(knobs, k)
				}
			}
			return p.print(knobs, func() *table { return knobsTable(knobs...) })
		}),
	}
	cmd.Flags().BoolVar(&live, "live", false, "only those that can be turned while the server runs")
	return cmd
}

func knobsTable(knobs ...client.Knob) *table {
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

func newKnobsSetCmd(p *program) *cobra.Command {
	var r client.KnobRequest
	cmd := &cobra.Command{
		Use: "set NAME [VALUE]", Short: "Turn a knob on all nodes, within two seconds, or back to what was deployed",
		Long: `Turn a knob on all nodes, within two seconds. What is set here is over flag,
environment and file, until --reset puts back what was deployed. A value that
cannot be is refused, and nothing changes.`,
		Args: func(_ *cobra.Command, args []string) error {
			if r.Reset {
				return takes("NAME")(nil, args)
			}
			return takes("NAME", "VALUE")(nil, args)
		},
		Example: trimExamples(`
  sbctl knobs set limit.updates_per_minute 20 --reason "a busy weekend"
  sbctl knobs set limit.updates_per_minute --reset`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if !r.Reset {
				r.Value = &args[1]
			}
			k, err := c.SetKnob(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			return p.print(k, func() *table { return knobsTable(k) })
		}),
	}
	cmd.Flags().BoolVar(&r.Reset, "reset", false, "back to what was deployed")
	addReasonFlag(cmd, &r.Reason)
	return cmd
}
