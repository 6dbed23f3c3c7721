package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newEventReverseCmd(p *program) *cobra.Command {
	var r client.ReverseRequest
	cmd := &cobra.Command{
		Use: "reverse ID", Short: "Reverse an event on all its boards", Args: exactArgs("ID"),
		Long: `Reverse an event on all its boards by recording a reversal. On best and latest
boards the score is recomputed from the remaining submissions. Reversing an event
twice has no further effect. The event's receipt stays and is marked as reversed. The
standings of a board that has ended are final, so an event that counted on one is only
reversed with --open-boards: on its other boards. If an event and an adjustment of the
user have the same id, --kind says which is meant.`,
		Example: trimExamples(`
  sbctl event reverse match-8841 --user alice --reason "the match was void"
  sbctl event reverse match-8841 --user alice --reason "the match was void" --yes
  sbctl event reverse match-8841 --user alice --reason "cheated last season" --open-boards
  sbctl event reverse ticket-17 --user alice --reason "adjusted twice" --kind adjustment`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Reverse event %s of %s?", args[0], r.UserID)); err != nil {
				return err
			}
			reversal, err := c.Reverse(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			receipts := reversal.Receipts
			var out any = receipts
			if r.OpenBoards {
				out = reversal
			}
			for _, board := range reversal.ClosedBoards {
				p.infof("board %s has ended: its standings are final and keep the event", board)
			}
			if len(receipts) > 1 {
				p.infof("reversed event %s of %s on %d boards", args[0], r.UserID, len(receipts))
			}
			return p.print(out, func() *table {
				if len(receipts) != 1 {
					return receiptsTable(receipts)
				}
				t := receiptTable(receipts[0])
				t.add("reverses", "event "+args[0])
				return t
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.UserID, "user", "", "the event's user")
	flags.BoolVar(&r.OpenBoards, "open-boards", false, "leave boards that have ended as they are")
	flags.StringVar(&r.Kind, "kind", "", "event or adjustment, if both have the id")
	addReasonFlag(cmd, &r.Reason)
	requireFlags(cmd, "user", "reason")
	return cmd
}

func newVoidCmd(p *program) *cobra.Command {
	var r client.VoidRequest
	var from, to string
	cmd := &cobra.Command{
		Use: "void", Short: "Reverse all events of one key or address in a time range", Args: exactArgs(),
		Long: `Reverse all events of one key or one address in a time range. sbctl shows a preview
and asks for confirmation. The server then runs the void as one job, which continues
if sbctl is interrupted and can be undone within 30 days. --dry-run only shows the
preview. If no event matches, no job starts and the exit code is 3.`,
		Example: trimExamples(`
  sbctl event void --key k_7f3a --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --dry-run
  sbctl event void --address 192.0.2.7 --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --reason "a stolen key"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) (err error) {
			if (r.KeyID == "") == (r.Address == "") {
				return usagef("pass either --key or --address")
			}
			if r.From, err = timeFlag("from", from); err != nil {
				return err
			}
			if r.To, err = timeFlag("to", to); err != nil {
				return err
			}
			if !r.DryRun {
				if err := requireReason(r.Reason); err != nil {
					return err
				}
			}
			return void(cmd.Context(), p.confirmation, p.output, c, r)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.KeyID, "key", "", "reverse events signed by this key")
	flags.StringVar(&r.Address, "address", "", "reverse events sent from this address")
	flags.StringVar(&from, "from", "", "start of the `time` range (alias --since)")
	flags.StringVar(&to, "to", "", "end of the `time` range, exclusive, also --until")
	acceptSince(flags, "from", "to")
	flags.BoolVar(&r.DryRun, "dry-run", false, "only count the events that would be reversed")
	addReasonFlag(cmd, &r.Reason)
	requireFlags(cmd, "from", "to")
	return cmd
}

// void previews, confirms, starts and follows a void.
func void(ctx context.Context, ask *confirmation, out *output, c *client.Client, r client.VoidRequest) error {
	if ask.to.curl && !r.DryRun {
		_, err := c.CreateVoid(ctx, r)
		return err
	}
	preview, err := c.PreviewVoid(ctx, r)
	if err != nil {
		return err
	}
	table := func() *table {
		t := newTable("BOARD", ">EVENTS", ">USERS", ">POINTS", "")
		for _, b := range preview.Boards {
			ended := ""
			if b.Ended {
				ended = "ended: stays as it is"
			}
			t.add(b.Board, fmt.Sprint(b.Events), fmt.Sprint(b.Users), fmt.Sprint(b.Applied), ended)
		}
		return t
	}
	if preview.Events == 0 {
		out.infof("nothing to void: no counted events of %s from %s to %s",
			r.KeyID+r.Address, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))
	}
	if r.DryRun || preview.Events == 0 {
		if err := out.print(preview, table); err != nil {
			return err
		}
		reportRewards(out, preview.Rewards)
		if r.DryRun {
			return nil
		}
		return errCheckFailed
	}
	if !out.quiet {
		fmt.Fprint(out.stderr, table().render(style{}))
	}
	reportRewards(out, preview.Rewards)
	question := fmt.Sprintf("Reverse %s of %s?", english.Count(preview.Events, "event"),
		english.Count(preview.Users, "user"))
	if err := ask.confirm(ctx, question); err != nil {
		return err
	}
	v, err := c.CreateVoid(ctx, r)
	if err != nil {
		return err
	}
	out.infof("void %d started; it continues if this command ends", v.ID)
	return followVoid(ctx, out, c, v, "done")
}

// reportRewards prints which rewards a void takes back, if any.
func reportRewards(out *output, r *client.VoidedRewards) {
	if r == nil {
		return
	}
	out.infof("It takes %s back: %d unclaimed (revoked until an undo), %d claimed (flagged).",
		english.Count(r.Revoked+r.Flagged, "reward"), r.Revoked, r.Flagged)
	for i := range r.First {
		g := &r.First[i]
		out.infof("  reward %d of %s, %s, %s: %s", g.ID, g.UserID, g.Board, g.State, g.Reward)
	}
	if left := r.Revoked + r.Flagged - int64(len(r.First)); left > 0 && len(r.First) > 0 {
		out.infof("  and %d more", left)
	}
}

// followVoid reports the progress of a void until it reaches the state end.
func followVoid(ctx context.Context, out *output, c *client.Client, v client.Void, end string) error {
	for reported := time.Now(); v.State != end; {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		if v, err = c.Void(ctx, v.ID); err != nil {
			return err
		}
		if time.Since(reported) > time.Second {
			reported = time.Now()
			out.infof("void %d is %s: %d left%s", v.ID, v.State, v.Todo, delay(v))
		}
	}
	reportFailures(out, v)
	return out.print(v, func() *table { return voidsTable(v) })
}

// delay describes why a void is not done yet, if anything failed.
func delay(v client.Void) string {
	switch {
	case v.Problem != "":
		return ", tried again later: " + v.Problem
	case v.Waiting > 0 && len(v.Failures) > 0:
		return fmt.Sprintf(", of which %d failed and are tried again, such as event %s of %s: %s",
			v.Waiting, v.Failures[0].EventID, v.Failures[0].UserID, v.Failures[0].Reason)
	}
	return ""
}

// reportFailures reports the events that a void could not reverse or restore.
func reportFailures(out *output, v client.Void) {
	for _, f := range v.Failures {
		out.infof("event %s of %s was %s: %s", f.EventID, f.UserID, f.State, f.Reason)
	}
	if len(v.ClosedBoards) > 0 {
		out.infof("boards that have ended keep their standings: %s", byCount(v.ClosedBoards))
	}
}

func voidsTable(voids ...client.Void) *table {
	t := newTable(">ID", "STATE", "SENDER", "FROM", "TO", ">TODO", ">REVERSED", ">SKIPPED", ">UNDONE",
		"REWARDS", "WHO", "REASON", "UNDO", "SKIPPED FOR", "PROBLEM")
	for _, v := range voids {
		state, undo := v.State, ""
		if v.UndoAt != nil {
			state += " " + v.UndoAt.Format(time.RFC3339)
			undo = fmt.Sprintf("%s (%s)", v.UndoReason, v.UndoBy)
		}
		t.add(fmt.Sprint(v.ID), state, voidSender(v),
			v.From.Format(time.RFC3339), v.To.Format(time.RFC3339),
			fmt.Sprint(v.Todo), fmt.Sprint(v.Reversed), fmt.Sprint(v.Skipped), fmt.Sprint(v.Undone),
			voidedRewards(v.Rewards), v.Who, v.Reason, undo, byCount(v.SkippedFor), strings.TrimPrefix(delay(v), ", "))
	}
	return t
}

// voidedRewards counts the rewards that a void has taken back; empty for none.
func voidedRewards(r *client.VoidedRewards) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d revoked, %d flagged", r.Revoked, r.Flagged)
}

// voidSender is whose events a void reverses.
func voidSender(v client.Void) string {
	if v.Digest != "" {
		return "what-if on " + v.Board
	}
	return v.KeyID + v.Address
}

// byCount lists the keys of counts, such as why events were skipped, the most frequent
// first.
func byCount(counts map[string]int64) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, key := range keys {
		keys[i] = fmt.Sprintf("%s (%d)", key, counts[key])
	}
	return strings.Join(keys, "; ")
}

func newVoidsCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "voids", Short: "List voids, newest first", Args: exactArgs(),
		Example: trimExamples(`
  sbctl event voids
  sbctl event voids --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			voids, err := c.Voids(cmd.Context())
			if err != nil {
				return err
			}
			return p.print(voids, func() *table { return voidsTable(voids...) })
		}),
	}
}

func newShowVoidCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show-void ID", Short: "Show a void and the events that it could not reverse", Args: exactArgs("ID"),
		Long: `Show a void's progress and the events that it could not reverse or restore, with the
reason of each: at most 20, those that are tried again first. A void ends when no event
waits. An event that keeps failing is skipped after a few minutes.`,
		Example: trimExamples(`
  sbctl event show-void 3
  sbctl event show-void 3 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("void", args[0])
			if err != nil {
				return err
			}
			v, err := c.Void(cmd.Context(), id)
			if err != nil {
				return err
			}
			return p.print(v, func() *table { return voidTable(v) })
		}),
	}
}

func voidTable(v client.Void) *table {
	t := newTable()
	t.add("void", fmt.Sprint(v.ID))
	t.add("state", v.State)
	t.add("sender", voidSender(v))
	t.add("period", v.From.Format(time.RFC3339)+" to "+v.To.Format(time.RFC3339))
	t.add("created", fmt.Sprintf("%s by %s: %s", timeCell(&v.CreatedAt), v.Who, v.Reason))
	if v.UndoAt != nil {
		t.add("undone", fmt.Sprintf("%s by %s: %s", timeCell(v.UndoAt), v.UndoBy, v.UndoReason))
	}
	t.add("events", fmt.Sprintf("%d to do, %d reversed, %d skipped, %d undone",
		v.Todo, v.Reversed, v.Skipped, v.Undone))
	if len(v.ClosedBoards) > 0 {
		t.add("ended boards", "keep their standings: "+byCount(v.ClosedBoards))
	}
	if v.Waiting > 0 {
		t.add("waiting", english.Count(v.Waiting, "event"))
	}
	if v.Problem != "" {
		t.add("problem", fmt.Sprintf("%s (%s, next at %s)", v.Problem,
			english.Count(int64(v.Attempts), "attempt"), timeCell(v.NextAt)))
	}
	for _, f := range v.Failures {
		t.add(f.State, failureCell(f))
	}
	return t
}

// failureCell describes an event that a void could not reverse.
func failureCell(f client.VoidFailure) string {
	cell := fmt.Sprintf("event %s of %s: %s", f.EventID, f.UserID, f.Reason)
	if f.NextAt != nil {
		cell += fmt.Sprintf(" (%s, next at %s)", english.Count(int64(f.Attempts), "attempt"), timeCell(f.NextAt))
	}
	return cell
}

func newUnvoidCmd(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "unvoid ID", Short: "Undo a void (within 30 days)", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl event unvoid 3 --reason "it was the wrong key"
  sbctl event unvoid 3 --reason "it was the wrong key" --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("void", args[0])
			if err != nil {
				return err
			}
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Undo void %d?", id)); err != nil {
				return err
			}
			v, err := c.UndoVoid(cmd.Context(), id, reason)
			if err != nil {
				return err
			}
			return followVoid(cmd.Context(), p.output, c, v, "undone")
		}),
	}
	addReasonFlag(cmd, &reason)
	requireFlags(cmd, "reason")
	return cmd
}
