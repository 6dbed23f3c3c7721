package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newBoardRulesCmd(p *program) *cobra.Command {
	return newNounCmd("rules", "Manage board rules", `
  sbctl board rules set eu-ranked --region eu --action ranked-win
  sbctl board rules show`,
		newBoardRulesShowCmd(p), withReason(newBoardRulesSetCmd(p)), withReason(newBoardRulesClearCmd(p)))
}

func newBoardRulesShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show the rules of all boards, or of one", Args: atMostOne,
		Example: trimExamples(`
  sbctl board rules show
  sbctl board rules show eu-ranked --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			rules, err := c.BoardRules(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if _, err := c.Board(cmd.Context(), args[0]); err != nil {
					return err
				}
				others := func(r client.BoardRule) bool { return r.Board != args[0] }
				rules.Rules = slices.DeleteFunc(rules.Rules, others)
			}
			if len(rules.Rules) == 0 {
				p.infof("no rules: increments that name no board count only on board global")
			}
			return p.print(rules, func() *table { return rulesTable(rules.Rules...) })
		}),
	}
}

func newBoardRulesSetCmd(p *program) *cobra.Command {
	var r client.BoardRuleRequest
	var attributes []string
	var all bool
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set or replace the rule of a board", Args: exactArgs("NAME"),
		Long: `Set or replace the rule of a board. An increment that names no board counts on board
global and on every board whose rule it matches, either on all of them or on none. Every
given part of a rule must match, with one of its values.

The rule applies to increments that are recorded from now on, on all nodes. Boards with
a rule must add points, like board global, and have no requirements. While a board is frozen
or archived, its rule does not apply.`,
		Example: trimExamples(`
  sbctl board rules set eu-ranked --region eu,uk --action ranked-win
  sbctl board rules set console --attribute platform=ps5 --attribute platform=xbox
  sbctl board rules set daily --all`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if r.Attributes, err = ruleAttributes(attributes); err != nil {
				return err
			}
			if some := len(r.Actions)+len(r.Regions)+len(r.Attributes) > 0; some == all {
				return usagef("pass --action, --region or --attribute, or --all alone")
			}
			rule, err := c.SetBoardRule(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			return p.print(rule, func() *table { return rulesTable(rule) })
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.Actions, "action", nil, "match one of these actions")
	f.StringSliceVar(&r.Regions, "region", nil, "match one of these values of the attribute region")
	f.StringArrayVar(&attributes, "attribute", nil, "match the `name=value` of another attribute; repeat it for more")
	f.BoolVar(&all, "all", false, "match every increment that names no board")
	return cmd
}

// ruleAttributes parses attributes of a rule: several values of a name are alternatives.
func ruleAttributes(texts []string) (map[string][]string, error) {
	values := make(map[string][]string)
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("invalid attribute %q: want name=value", text)
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}

// incrementAttributes parses attributes of an increment, which have one value each.
func incrementAttributes(texts []string) (map[string]string, error) {
	lists, err := ruleAttributes(texts)
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	values := make(map[string]string, len(lists))
	for name, list := range lists {
		if len(list) > 1 {
			return nil, usagef("duplicate attribute %s", name)
		}
		values[name] = list[0]
	}
	return values, nil
}

func newBoardRulesClearCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "clear NAME", Short: "Remove the rule of a board; its scores stay", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl board rules clear eu-ranked
  sbctl board rules clear daily --reason 'the season is over'`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			b, err := c.ClearBoardRule(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p.infof("board %s has no rule", b.Board)
			return p.print(b, func() *table { return boardTable(&b, nil) })
		}),
	}
}

func rulesTable(rules ...client.BoardRule) *table {
	t := newTable("BOARD", "STATUS", "ACTIONS", "REGIONS", "ATTRIBUTES")
	for _, r := range rules {
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			attributes = append(attributes, name+"="+strings.Join(r.Attributes[name], "|"))
		}
		if len(r.Actions)+len(r.Regions)+len(attributes) == 0 {
			attributes = []string{"(every increment)"}
		}
		t.add(r.Board, r.Status, strings.Join(r.Actions, ","), strings.Join(r.Regions, ","),
			strings.Join(attributes, " "))
	}
	return t
}
