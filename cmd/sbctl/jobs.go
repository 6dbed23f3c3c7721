package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

// jobFlags say of what a job is.
type jobFlags struct {
	board, user string
	all, dry    bool
}

func (f *jobFlags) request() (client.JobRequest, error) {
	if f.all == (f.board != "") {
		return client.JobRequest{}, usagef("say either --board or --all")
	}
	return client.JobRequest{Board: f.board, All: f.all, UserID: f.user}, nil
}

func (f *jobFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.board, "board", "", "the board")
	cmd.Flags().BoolVar(&f.all, "all", false, "every board")
}

// progress says on stderr, once a second, how far a job is.
func (p *program) progress() func(client.JobLine) {
	started := time.Now()
	said := started
	return func(line client.JobLine) {
		if time.Since(said) < time.Second {
			return
		}
		said = time.Now()
		done, unit := line.Users, "users"
		if line.Records > 0 {
			done, unit = line.Records, "records"
		}
		rate := float64(done) / time.Since(started).Seconds()
		left := ""
		if line.Total > done && rate > 0 {
			left = fmt.Sprintf(", %s left", time.Duration(float64(line.Total-done)/rate*float64(time.Second)).Round(time.Second))
		}
		board := ""
		if line.Board != "" {
			board = line.Board + ": "
		}
		p.say("%s%d %s, %.0f/s%s", board, done, unit, rate, left)
	}
}

func newRebuildCmd(p *program) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Make a board's ranking anew from the truth, beside the live one", Args: takes(),
		Example: trimExamples(`
  sbctl rebuild --board global
  sbctl rebuild --all --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request()
			if err != nil {
				return err
			}
			if f.dry {
				return p.conditions(cmd.Context(), c, r)
			}
			done, err := c.Rebuild(cmd.Context(), r, p.progress())
			if err != nil {
				return err
			}
			return p.print(done.Rebuilt, func() *table {
				t := newTable("BOARD", ">EPOCH", ">USERS", ">TOOK")
				for _, b := range done.Rebuilt {
					t.add(b.Board, fmt.Sprint(b.Epoch), fmt.Sprint(b.Users), (time.Duration(b.TookMS) * time.Millisecond).String())
				}
				return t
			})
		}),
	}
	cmd.Annotations = map[string]string{onceInterrupted: "the ranking that was there stays; the same command begins anew"}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only show the condition of the boards")
	return cmd
}

// conditions shows what a rebuild would make anew: one board, or all.
func (p *program) conditions(ctx context.Context, c *client.Client, r client.JobRequest) error {
	names := []string{r.Board}
	if r.All {
		var err error
		if names, err = rankedBoards(ctx, c); err != nil {
			return err
		}
	}
	all := make([]client.Condition, 0, len(names))
	for _, name := range names {
		k, err := c.Condition(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	return p.print(all, func() *table {
		t := newTable("BOARD", "STATE", ">EPOCH", ">MEMBERS", ">BYTES")
		for _, k := range all {
			t.add(k.Board, k.State, fmt.Sprint(k.Epoch), fmt.Sprint(k.Members), fmt.Sprint(k.Bytes))
		}
		return t
	})
}

// rankedBoards names the boards that the ranking should hold.
func rankedBoards(ctx context.Context, c *client.Client) (names []string, err error) {
	for after := ""; ; {
		page, err := c.Boards(ctx, client.BoardQuery{After: after})
		if err != nil {
			return nil, err
		}
		for _, b := range page.Boards {
			family := b.Family == "" && b.Period != "none" // its periods are listed, too
			if b.Status != "archived" && !family {
				names = append(names, b.Board)
			}
		}
		if after = page.NextAfter; after == "" {
			return names, nil
		}
	}
}

func conditionRows(t *table, k *client.Condition) {
	t.add("state", k.State)
	t.add("epoch", fmt.Sprint(k.Epoch))
	t.add("version", fmt.Sprint(k.Version))
	t.add("members", fmt.Sprint(k.Members))
	t.add("bytes", fmt.Sprint(k.Bytes))
	if k.AgeMS != nil {
		t.add("lag", (time.Duration(*k.AgeMS) * time.Millisecond).String())
	}
}

func newVerifyCmd(p *program) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that ledger, scores and ranking agree; exit 3 where they do not", Args: takes(),
		Example: trimExamples(`
  sbctl verify --all
  sbctl verify --board global --user alice`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request()
			if err != nil {
				return err
			}
			done, err := c.Verify(cmd.Context(), r, p.progress())
			if err != nil {
				return err
			}
			return p.verified(done)
		}),
	}
	cmd.Annotations = map[string]string{onceInterrupted: "nothing was changed; the same command begins anew"}
	f.add(cmd)
	cmd.Flags().StringVar(&f.user, "user", "", "one user only")
	return cmd
}

func newReconcileCmd(p *program) *cobra.Command {
	var f jobFlags
	var repair bool
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Compare scores and ranking, with --repair put the ranking right; exit 3 where something is wrong and stays so", Args: takes(),
		Example: trimExamples(`
  sbctl reconcile --all
  sbctl reconcile --board global --repair`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request()
			if err != nil {
				return err
			}
			if f.dry && repair {
				return usagef("--dry-run and --repair exclude each other")
			}
			r.Repair = repair
			done, err := c.Reconcile(cmd.Context(), r, p.progress())
			if err != nil {
				return err
			}
			return p.verified(done)
		}),
	}
	cmd.Annotations = map[string]string{onceInterrupted: "who was mended stays so, nobody is half mended; the same command begins anew"}
	f.add(cmd)
	cmd.Flags().StringVar(&f.user, "user", "", "one user only")
	cmd.Flags().BoolVar(&repair, "repair", false, "put the truth in the place of what is wrong in the ranking")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only compare; the default")
	return cmd
}

// verified prints what a comparison found. What is wrong and stays so is a no.
func (p *program) verified(done client.JobLine) error {
	v := done.Verified
	if v == nil {
		return fmt.Errorf("the server's answer holds no result")
	}
	err := p.print(v, func() *table {
		t := newTable("BOARD", "USER", "WHAT", "DETAIL")
		for _, d := range v.Differences {
			t.add(d.Board, d.UserID, d.Kind, d.Detail)
		}
		if v.Wrong == 0 {
			t = newTable()
		}
		return t
	})
	rows := ""
	if v.Rows > 0 { // reconcile reads none
		rows = fmt.Sprintf(" and %d ledger rows", v.Rows)
	}
	p.say("%d users%s in %v: %d differences, %d mended",
		v.Users, rows, (time.Duration(v.TookMS) * time.Millisecond).Round(time.Millisecond), v.Wrong, v.Repaired)
	if err == nil && v.Wrong > v.Repaired {
		return errNo
	}
	return err
}
