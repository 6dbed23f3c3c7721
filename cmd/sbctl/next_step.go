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
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// nextStep suggests what to do about an error, by its code, field and reason, and lists
// the values that were skipped if the error may be about them.
func nextStep(ctx context.Context, cn *connector, cmd *cobra.Command, e *client.Error) string {
	s, err := cn.connection()
	if err != nil {
		return ""
	}
	next := stepOf(ctx, cn, cmd, s, e)
	ours := e.Status == 0 || e.Code == wire.CodeUnauthorized || e.Code == wire.CodeForbidden ||
		e.Code == wire.CodeInvalidSignature
	if ours && len(s.Skipped) > 0 {
		next += "; skipped: " + strings.Join(s.Skipped, ", ")
	}
	return next
}

func stepOf(ctx context.Context, cn *connector, cmd *cobra.Command, s connection, e *client.Error) string {
	switch {
	case e.Status == 0:
		return s.unreachableStep()
	case e.Code == wire.CodeUnauthorized && s.Token.Value == "":
		return "set SBCTL_TOKEN, or choose a profile that has a token"
	case e.Code == wire.CodeUnauthorized:
		return fmt.Sprintf("the token (from %s) is invalid or expired; set a new one in SBCTL_TOKEN", s.Token.From)
	case e.Code == wire.CodeInvalidSignature && s.KeyID.Value == "":
		return "set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" creates a key"
	case e.Code == wire.CodeInvalidSignature:
		return fmt.Sprintf("check key %s (from %s) and this machine's clock with \"sbctl doctor\"", s.KeyID.Value,
			s.KeyID.From)
	case e.Code == wire.CodeForbidden && e.Field == "user_id":
		return "\"sbctl user show USER\" shows operators the user's status and its reason"
	case e.Code == wire.CodeForbidden:
		return fmt.Sprintf("the token (from %s) lacks permission; use the user's own, or one with a wider scope",
			s.Token.From)
	case e.Code == wire.CodeEventConflict:
		return fmt.Sprintf(
			"the id belongs to another increment of the user, which \"sbctl event show %s%s\" shows; use another id",
			e.EventID, flagOf(cmd, "user"))
	case e.Code == wire.CodeRuleViolated && e.Field == "action_token" && flagOf(cmd, "action-token") == "":
		return "start the action with \"sbctl action start\" and pass its token with --action-token"
	case e.Code == wire.CodeDeltaOutOfRange || e.Code == wire.CodeScoreOutOfRange:
		return rangeStep(e.Reason, cmd)
	case e.Code == wire.CodeNotFound:
		return suggestList(ctx, cn, cmd)
	case e.RetryAfter > 0:
		return fmt.Sprintf("try again in %v", e.RetryAfter.Round(time.Second))
	case e.Temporary():
		return "try again; \"sbctl doctor\" diagnoses the server"
	}
	return ""
}

// rangeStep names the place where the violated limit of a delta or score is set.
func rangeStep(reason wire.Reason, cmd *cobra.Command) string {
	switch reason {
	case wire.ReasonActionRule:
		return "the rules of actions are the setting ingest.actions; \"sbctl settings list\" shows it to operators"
	case wire.ReasonActionBounds:
		return "start another action with wider limits"
	case wire.ReasonKeyScope:
		return "\"sbctl key list\" shows operators the limits of a key"
	case wire.ReasonDeltaLimits:
		return "the limits are the settings ingest.*_delta; \"sbctl settings list\" shows them to operators"
	}
	board := string(scoreboard.GlobalBoard)
	if requested := requestedBoards(cmd); len(requested) > 0 {
		board = requested[0]
	}
	return fmt.Sprintf("\"sbctl board show %s\" shows the board's limits", board)
}

// flagOf repeats a flag as it was given; empty if it was not.
func flagOf(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil && f.Changed && f.Value.Type() == "string" {
		return " --" + name + " " + f.Value.String()
	}
	return ""
}

// suggestList names the command that lists what was not found, and the closest
// name to a misspelt one.
func suggestList(ctx context.Context, cn *connector, cmd *cobra.Command) string {
	c, err := cn.client()
	if err != nil {
		return ""
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	if requested := requestedBoards(cmd); len(requested) > 0 {
		boards, err := allBoards(ctx, c, "")
		for _, name := range requested {
			exists := func(b client.Board) bool { return b.Board == name }
			if err == nil && !slices.ContainsFunc(boards, exists) {
				return "\"sbctl board list\" lists the boards" + english.Closest(name, boardNames(boards), "")
			}
		}
	}
	noun := cmd.Parent()
	switch {
	case noun.Name() == "settings":
		return suggestSettings(ctx, c, cmd)
	case cmd.Name() == "standings":
		return "a period has them once it is closed; \"sbctl top --board " + cmd.Flags().Arg(0) + "\" shows it before"
	case noun.Name() == "profile":
		return "\"sbctl user profile set " + cmd.Flags().Arg(0) + " --display-name …\" sets one"
	case cmd.Name() == "unvoid":
		return "\"sbctl event voids\" lists the voids"
	case noun.Name() == "event":
		return "check the id and --user; \"sbctl score statement USER\" lists a user's events"
	case slices.ContainsFunc(noun.Commands(), func(verb *cobra.Command) bool { return verb.Name() == "list" }):
		return fmt.Sprintf("%q lists what exists", noun.CommandPath()+" list")
	case noun.Name() == "user" && cmd.Name() == "show":
		return "\"sbctl top\" lists users with a score"
	case strings.HasSuffix(cmd.Use, " USER") || flagOf(cmd, "user") != "":
		user := cmd.Flags().Arg(0)
		if f := cmd.Flag("user"); f != nil {
			user = f.Value.String()
		}
		return fmt.Sprintf(
			"\"sbctl top%s\" lists users with a score; "+
				"\"sbctl user show %s\" shows operators the user's status and scores",
			flagOf(cmd, "board"),
			user,
		)
	}
	return ""
}

// suggestSettings suggests a name for the first unknown setting on the command
// line, where names alternate with values except with --reset.
func suggestSettings(ctx context.Context, c *client.Client, cmd *cobra.Command) string {
	all, _ := c.Settings(ctx) // on an error there is nothing to compare with
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	step := 2
	if f := cmd.Flag("reset"); f != nil && f.Changed {
		step = 1
	}
	unknown := cmd.Flags().Arg(0)
	for i := 0; i < cmd.Flags().NArg(); i += step {
		if unknown = cmd.Flags().Arg(i); !slices.Contains(names, unknown) {
			break
		}
	}
	return settingsHint(unknown, names)
}

func settingsHint(unknown string, names []string) string {
	return "\"sbctl settings list\" lists the settings" + english.Closest(unknown, names, "")
}

// requestedBoards are the boards that a command line names.
func requestedBoards(cmd *cobra.Command) []string {
	if cmd.Parent().Name() == "board" {
		return cmd.Flags().Args()
	}
	f := cmd.Flag("board")
	if f == nil {
		f = cmd.Flag("boards")
	}
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

// maxListedBoards limits the list of boards that a person picks from, or that a
// misspelt name is compared with.
const maxListedBoards = 1000

// allBoards lists all boards, or those of a family, up to maxListedBoards.
func allBoards(ctx context.Context, c *client.Client, family string) (all []client.Board, err error) {
	for q := (client.BoardQuery{Family: family}); len(all) < maxListedBoards; {
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
