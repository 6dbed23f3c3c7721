package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newEventReverseCmd(p *program) *cobra.Command {
	var user, reason string
	cmd := &cobra.Command{
		Use: "reverse ID", Short: "Take back an event on all its boards; twice is as once", Args: takes("ID"),
		Long: `Take back an event on all its boards, by an event of its own. On boards of the
modes best and latest the score becomes what the other submissions come to.
Twice is as once. The event's own receipt stays, and says that it is reversed.`,
		Example: trimExamples(`
  sbctl event reverse match-8841 --user alice --reason "the match was void"
  sbctl event reverse match-8841 --user alice --reason "the match was void" --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if user == "" {
				return usagef("--user is missing")
			}
			if err := wantReason(reason); err != nil {
				return err
			}
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Reverse event %s of %s?", args[0], user)); err != nil {
				return err
			}
			receipts, err := c.Reverse(cmd.Context(), user, args[0], reason)
			if err != nil {
				return err
			}
			return p.print(receipts, func() *table {
				if len(receipts) == 1 {
					return receiptTable(receipts[0])
				}
				return receiptsTable(receipts)
			})
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "whose event it is")
	addReasonFlag(cmd, &reason)
	return cmd
}

func newVoidCmd(p *program) *cobra.Command {
	var r client.VoidRequest
	var from, to string
	cmd := &cobra.Command{
		Use: "void", Short: "Take back all that one key or address sent between two instants", Args: takes(),
		Long: `Take back all that one key or one address sent between two instants: first what
it comes to, then, confirmed, one job that the server works off whatever happens
to this command. The job can be undone for 30 days. With --dry-run only the
preview. Where there is nothing to take back, no job begins, and the exit code
is 3.`,
		Example: trimExamples(`
  sbctl event void --key k_7f3a --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --dry-run
  sbctl event void --address 192.0.2.7 --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --reason "a stolen key"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) (err error) {
			if (r.KeyID == "") == (r.Address == "") {
				return usagef("say either --key or --address")
			}
			if from == "" || to == "" {
				return usagef("--from and --to are both wanted")
			}
			if r.From, err = timeFlag("from", from); err != nil {
				return err
			}
			if r.To, err = timeFlag("to", to); err != nil {
				return err
			}
			if !r.DryRun {
				if err := wantReason(r.Reason); err != nil {
					return err
				}
			}
			return p.void(cmd.Context(), c, r)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.KeyID, "key", "", "what this key signed")
	flags.StringVar(&r.Address, "address", "", "what came from this address")
	flags.StringVar(&from, "from", "", "from this time on (RFC 3339)")
	flags.StringVar(&to, "to", "", "and before this time (RFC 3339)")
	flags.BoolVar(&r.DryRun, "dry-run", false, "only count what would be taken back")
	addReasonFlag(cmd, &r.Reason)
	return cmd
}

// void previews, asks, begins and follows a void.
func (p *program) void(ctx context.Context, c *client.Client, r client.VoidRequest) error {
	preview, err := c.PreviewVoid(ctx, r)
	if err != nil {
		return err
	}
	table := func() *table {
		t := newTable("BOARD", ">EVENTS", ">USERS", ">POINTS")
		for _, b := range preview.Boards {
			t.add(tui.Printable(b.Board), fmt.Sprint(b.Events), fmt.Sprint(b.Users), fmt.Sprint(b.Applied))
		}
		return t
	}
	if preview.Events == 0 {
		p.say("nothing to void: nothing that still counts was sent by %s from %s on and before %s",
			r.KeyID+r.Address, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))
	}
	if r.DryRun || preview.Events == 0 {
		if err := p.print(preview, table); err != nil || r.DryRun {
			return err
		}
		return errNo
	}
	if !p.quiet {
		if err := table().write(p.stderr); err != nil {
			return err
		}
	}
	if err := p.confirm(ctx, fmt.Sprintf("Take back %d events of %d users?", preview.Events, preview.Users)); err != nil {
		return err
	}
	v, err := c.CreateVoid(ctx, r)
	if err != nil {
		return err
	}
	p.say("void %d has begun; it goes on if this command ends", v.ID)
	return p.followVoid(ctx, c, v, "done")
}

// followVoid says how far a void is until it is where it should end.
func (p *program) followVoid(ctx context.Context, c *client.Client, v client.Void, end string) error {
	for said := time.Now(); v.State != end; {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		if v, err = c.Void(ctx, v.ID); err != nil {
			return err
		}
		if time.Since(said) > time.Second {
			said = time.Now()
			p.say("void %d is %s: %d to do", v.ID, v.State, v.Todo)
		}
	}
	return p.print(v, func() *table { return voidsTable(v) })
}

func voidsTable(voids ...client.Void) *table {
	t := newTable(">ID", "STATE", "SENDER", "FROM", "TO", ">TODO", ">REVERSED", ">SKIPPED", ">UNDONE", "WHO", "REASON", "UNDO", "SKIPPED FOR")
	for _, v := range voids {
		state, undo := v.State, ""
		if v.UndoAt != nil {
			state += " " + v.UndoAt.Format(time.RFC3339)
			undo = fmt.Sprintf("%s (%s)", tui.Printable(v.UndoReason), tui.Printable(v.UndoBy))
		}
		t.add(fmt.Sprint(v.ID), state, tui.Printable(v.KeyID+v.Address), v.From.Format(time.RFC3339), v.To.Format(time.RFC3339),
			fmt.Sprint(v.Todo), fmt.Sprint(v.Reversed), fmt.Sprint(v.Skipped), fmt.Sprint(v.Undone), tui.Printable(v.Who), tui.Printable(v.Reason), undo, skippedFor(v))
	}
	return t
}

// skippedFor says why events were skipped, the most first.
func skippedFor(v client.Void) string {
	whys := slices.SortedFunc(maps.Keys(v.SkippedFor), func(a, b string) int {
		return cmp.Or(cmp.Compare(v.SkippedFor[b], v.SkippedFor[a]), strings.Compare(a, b))
	})
	for i, why := range whys {
		whys[i] = fmt.Sprintf("%s (%d)", tui.Printable(why), v.SkippedFor[why])
	}
	return strings.Join(whys, "; ")
}

func newVoidsCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "voids", Short: "List the voids, the newest first", Args: takes(),
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

func newUnvoidCmd(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "unvoid ID", Short: "Have everything count again that a void took back, within 30 days", Args: takes("ID"),
		Example: trimExamples(`
  sbctl event unvoid 3 --reason "it was the wrong key"
  sbctl event unvoid 3 --reason "it was the wrong key" --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("%q is not the id of a void, which is a number", args[0])
			}
			if err := wantReason(reason); err != nil {
				return err
			}
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Undo void %d?", id)); err != nil {
				return err
			}
			v, err := c.UndoVoid(cmd.Context(), id, reason)
			if err != nil {
				return err
			}
			return p.followVoid(cmd.Context(), c, v, "undone")
		}),
	}
	addReasonFlag(cmd, &reason)
	return cmd
}
