package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/suggest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// nextStep says what a person can do about a refusal.
func (p *program) nextStep(ctx context.Context, cmd *cobra.Command, e *client.Error) string {
	s, err := p.settings()
	switch {
	case err != nil:
		return ""
	case e.Status == 0:
		return fmt.Sprintf("is a server running at %s (from %s)? \"make dev\" starts one, --server names another", s.Server.Value, s.Server.From)
	case e.Code == scoreboard.CodeUnauthorized && s.Token.Value == "":
		return "set SBCTL_TOKEN, or choose a profile that has a token"
	case e.Code == scoreboard.CodeUnauthorized:
		return fmt.Sprintf("the token (from %s) is wrong or has expired; set another in SBCTL_TOKEN", s.Token.From)
	case e.Code == scoreboard.CodeInvalidSignature && s.KeyID.Value == "":
		return "set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" makes a key"
	case e.Code == scoreboard.CodeInvalidSignature:
		return fmt.Sprintf("check key %s (from %s) and this machine's clock with \"sbctl doctor\"", s.KeyID.Value, s.KeyID.From)
	case e.Code == scoreboard.CodeForbidden && e.Field == "user_id":
		return "\"sbctl user show USER\" tells an operator since when, by whom and why"
	case e.Code == scoreboard.CodeForbidden:
		return fmt.Sprintf("the token (from %s) may not do this; use one of that user, or with a wider scope", s.Token.From)
	case e.Code == scoreboard.CodeEventConflict:
		return fmt.Sprintf("the id belongs to another increment of the user, which \"sbctl event show %s%s\" shows; give this one another id",
			e.EventID, flagOf(cmd, "user"))
	case e.Code == scoreboard.CodeRuleViolated && e.Field == "action_token" && flagOf(cmd, "action-token") == "":
		return "start the action with POST /v1/actions, which answers with its token, and give that with --action-token"
	case e.Code == scoreboard.CodeDeltaOutOfRange && !strings.Contains(e.Message, "bounds of the board"):
		return otherBounds(e.Message)
	case e.Code == scoreboard.CodeDeltaOutOfRange || e.Code == scoreboard.CodeScoreOutOfRange:
		board := string(scoreboard.GlobalBoard)
		if asked := boardsAskedFor(cmd); len(asked) > 0 {
			board = asked[0]
		}
		return fmt.Sprintf("\"sbctl board show %s\" tells what it takes", board)
	case e.Code == scoreboard.CodeNotFound:
		return p.whatThereIs(ctx, cmd)
	case e.RetryAfter > 0:
		return fmt.Sprintf("try again in %v", e.RetryAfter.Round(time.Second))
	case e.Temporary():
		return "try again; \"sbctl doctor\" looks for the cause"
	}
	return ""
}

// otherBounds says who sets the bounds of a delta that are not the board's.
func otherBounds(message string) string {
	switch {
	case strings.HasPrefix(message, "action "):
		return "the rules of actions are the knob ingest.actions, which \"sbctl knobs list\" shows an operator"
	case strings.HasPrefix(message, "the key "):
		return "\"sbctl key list\" shows an operator what a key signs for"
	case strings.HasPrefix(message, "delta must be from"):
		return "these bounds are the knobs ingest.min_delta and ingest.max_delta, which \"sbctl knobs list\" shows an operator"
	}
	return ""
}

// flagOf is a flag as it was given, to be given again; empty where it was not.
func flagOf(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil && f.Changed && f.Value.Type() == "string" {
		return " --" + name + " " + f.Value.String()
	}
	return ""
}

// whatThereIs names the command that lists what was asked for in vain, and what
// may have been meant.
func (p *program) whatThereIs(ctx context.Context, cmd *cobra.Command) string {
	c, err := p.client()
	if err != nil {
		return ""
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	noun, argument := cmd.Parent(), cmd.Flags().Arg(0)
	if asked := boardsAskedFor(cmd); len(asked) > 0 {
		there, err := allBoards(ctx, c, "")
		for _, name := range asked {
			if known := func(b client.Board) bool { return b.Board == name }; err == nil && !slices.ContainsFunc(there, known) {
				return "\"sbctl board list\" names the boards" + suggest.Closest(name, boardNames(there), "")
			}
		}
	}
	switch {
	case noun.Name() == "knobs":
		knobs, _ := c.Settings(ctx) // without them there is no suggestion
		names := make([]string, len(knobs))
		for i, k := range knobs {
			names[i] = k.Name
		}
		step := 2 // names and values take turns
		if f := cmd.Flag("reset"); f != nil && f.Changed {
			step = 1
		}
		for i := 0; i < cmd.Flags().NArg(); i += step {
			if argument = cmd.Flags().Arg(i); !slices.Contains(names, argument) {
				break
			}
		}
		return "\"sbctl knobs list\" names the knobs" + suggest.Closest(argument, names, "")
	case cmd.Name() == "unvoid":
		return "\"sbctl event voids\" lists what there is"
	case noun.Name() == "event":
		return "check the id and --user; \"sbctl score statement USER\" lists a user's events"
	case slices.ContainsFunc(noun.Commands(), func(verb *cobra.Command) bool { return verb.Name() == "list" }):
		return fmt.Sprintf("%q lists what there is", noun.CommandPath()+" list")
	case noun.Name() == "user" && cmd.Name() == "show":
		return "\"sbctl top\" shows who has a score"
	case strings.HasSuffix(cmd.Use, " USER") || flagOf(cmd, "user") != "":
		if f := cmd.Flag("user"); f != nil {
			argument = f.Value.String()
		}
		return fmt.Sprintf("\"sbctl top%s\" shows who has a score; \"sbctl user show %s\" tells an operator what the user is, and has on which board",
			flagOf(cmd, "board"), argument)
	}
	return ""
}

// boardsAskedFor are the boards that a command line names.
func boardsAskedFor(cmd *cobra.Command) []string {
	if cmd.Parent().Name() == "board" {
		return cmd.Flags().Args()
	}
	f := cmd.Flag("board")
	if f == nil || !f.Changed {
		return nil
	}
	if several, ok := f.Value.(pflag.SliceValue); ok {
		return several.GetSlice()
	}
	return []string{f.Value.String()}
}

func boardNames(boards []client.Board) []string {
	names := make([]string, len(boards))
	for i := range boards {
		names[i] = boards[i].Board
	}
	return names
}

// allBoards lists the boards there are, or a family's, as many as one may look
// through.
func allBoards(ctx context.Context, c *client.Client, family string) (all []client.Board, err error) {
	for q := (client.BoardQuery{Family: family}); len(all) < maxListed; {
		page, err := c.Boards(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Boards...)
		if q.After = page.NextAfter; q.After == "" {
			break
		}
	}
	return all, nil
}
