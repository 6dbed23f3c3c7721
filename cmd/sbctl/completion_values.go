package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// completionTimeout limits a request made while a person types. Without a
// response in time, the shell completes nothing.
const completionTimeout = 2 * time.Second

// once completes only the first argument.
func once(with cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(cmd, args, typed)
	}
}

// fetchWords gets the candidates of a completion from the server. Errors complete
// nothing.
func (w *completer) fetchWords(
	cmd *cobra.Command, typed string, fetch func(context.Context, *client.Client) ([]string, error),
) ([]string, cobra.ShellCompDirective) {
	w.out.quiet = true // a shell would show messages in the middle of the line
	c, err := w.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found, err := fetch(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i, word := range found {
		value, description, described := strings.Cut(word, "\t")
		if found[i] = scoreboard.Escape(value); described {
			found[i] = cobra.CompletionWithDesc(found[i], scoreboard.Escape(description))
		}
	}
	return matching(found, typed), cobra.ShellCompDirectiveNoFileComp
}

func matching(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(w string) bool {
		// The scripts of the shells print what begins so as a hint: no name does.
		return !strings.HasPrefix(w, typed) || strings.HasPrefix(w, "_activeHelp_")
	})
}

func (w *completer) completeBoards(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		boards, err := allBoards(ctx, c, "")
		return boardNames(boards), err
	})
}

// completeUsers offers the top 100 of the board that the command line names.
func (w *completer) completeUsers(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	q := client.TopQuery{Limit: 100}
	if f := cmd.Flag("board"); f != nil && f.Value.Type() == "string" {
		q.Board = f.Value.String()
	}
	return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		top, err := c.Top(ctx, q)
		var names []string
		for _, e := range top.Entries {
			names = append(names, e.UserID)
		}
		return names, err
	})
}

// completeIDs offers the ids that a verb of a noun takes, newest or first ones.
func (w *completer) completeIDs(noun, verb string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) (ids []string, err error) {
			switch {
			case noun == "key":
				keys, err := c.Keys(ctx)
				for _, k := range keys {
					ids = append(ids, cobra.CompletionWithDesc(k.KeyID, k.Name))
				}
				return ids, err
			case noun == "flag":
				page, err := c.Flags(ctx, client.FlagQuery{State: "open"})
				for _, f := range page.Flags {
					ids = append(ids, cobra.CompletionWithDesc(number(f.ID), f.Rule+" "+f.UserID))
				}
				return ids, err
			case noun == "dlq":
				page, err := c.DeadLetters(ctx, 0)
				for _, l := range page.Letters {
					ids = append(ids, cobra.CompletionWithDesc(number(l.ID), l.Reason))
				}
				return ids, err
			case noun == "audit":
				page, err := c.Audit(ctx, client.AuditQuery{})
				for _, e := range page.Entries {
					ids = append(ids, cobra.CompletionWithDesc(number(e.ID), e.Action+" "+e.Target))
				}
				return ids, err
			case verb == "unvoid" || verb == "show-void":
				voids, err := c.Voids(ctx)
				for _, v := range voids {
					ids = append(ids, cobra.CompletionWithDesc(number(v.ID), v.Reason))
				}
				return ids, err
			case noun == "event":
				user := cmd.Flag("user").Value.String()
				if user == "" {
					return nil, nil
				}
				page, err := c.Statement(ctx, user, client.StatementQuery{})
				for _, e := range page.Entries {
					ids = append(ids, cobra.CompletionWithDesc(e.EventID, fmt.Sprintf("%+d on %s", e.Delta, e.Board)))
				}
				return ids, err
			}
			return nil, nil
		})
	}
}

// completeActions offers the names of the server's action rules.
func (w *completer) completeActions(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := c.Settings(ctx)
		var names []string
		for _, s := range all {
			if s.Name != "ingest.actions" {
				continue
			}
			for rule := range strings.SplitSeq(s.Value, ",") {
				if name, _, ok := strings.Cut(strings.TrimSpace(rule), ":"); ok && name != "*" {
					names = append(names, name)
				}
			}
		}
		return names, err
	})
}

// completeAudit offers the values of a field in the latest audit entries.
func (w *completer) completeAudit(field string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
			page, err := c.Audit(ctx, client.AuditQuery{Limit: 500})
			seen := map[string]bool{}
			for _, e := range page.Entries {
				seen[map[string]string{"action": e.Action, "who": e.Who, "target": e.Target}[field]] = true
			}
			return slices.Sorted(maps.Keys(seen)), err
		})
	}
}

// completeTimes offers examples of times, with ahead those to come.
func completeTimes(ahead bool) cobra.CompletionFunc {
	words := []string{
		"15m\tago", "1h\tago", "24h\tago", "7d\tago", "today\t00:00 UTC", "yesterday\t00:00 UTC",
		time.Now().UTC().Format(time.RFC3339) + "\tnow",
	}
	if ahead {
		words = []string{
			"1h\tfrom now", "7d\tfrom now", "tomorrow\t00:00 UTC", time.Now().UTC().Format(time.RFC3339) + "\tnow",
		}
	}
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// completeOutput offers the formats of the command; a template is not complete.
func completeOutput(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	words := append(slices.Clone(formats), strings.Fields(cmd.Annotations[extraOutputs])...)
	directive := cobra.ShellCompDirectiveNoFileComp
	if found := matching(words, typed); len(found) == 1 && found[0] == templatePrefix {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return matching(words, typed), directive
}

// completeSettings offers settings that are not on the command line yet: all to read one,
// otherwise those that can be changed. There names alternate with values, except with --reset.
func (w *completer) completeSettings(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if !cmd.Flags().Changed("reset") && len(args)%2 == 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return w.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := c.Settings(ctx)
		var names []string
		for _, s := range all {
			if (s.Live || cmd.Name() == "get") && !slices.Contains(args, s.Name) {
				names = append(names, s.Name)
			}
		}
		return names, err
	})
}

func (w *completer) completeProfiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	c, err := w.profiles.readConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(slices.Sorted(maps.Keys(c.Profiles)), typed), cobra.ShellCompDirectiveNoFileComp
}
