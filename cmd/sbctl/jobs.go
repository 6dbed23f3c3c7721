package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

// jobFlags are the flags that all jobs over boards share.
type jobFlags struct {
	board, user string
	all, dry    bool
}

func (f *jobFlags) request() (client.JobRequest, error) {
	if f.all == (f.board != "") {
		return client.JobRequest{}, usagef("pass either --board or --all")
	}
	return client.JobRequest{Board: f.board, All: f.all, UserID: f.user}, nil
}

func (f *jobFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.board, "board", "", "the board")
	cmd.Flags().BoolVar(&f.all, "all", false, "all boards")
}

// progress reports a job's progress on stderr once a second.
func progress(out *output) func(client.JobLine) {
	started := time.Now()
	reported := started
	return func(line client.JobLine) {
		if time.Since(reported) < time.Second {
			return
		}
		reported = time.Now()
		done, unit := line.Users, "user"
		if line.Records > 0 {
			done, unit = line.Records, "record"
		}
		rate := float64(done) / time.Since(started).Seconds()
		left := ""
		if line.Total > done && rate > 0 {
			left = fmt.Sprintf(", %s left",
				time.Duration(float64(line.Total-done)/rate*float64(time.Second)).Round(time.Second))
		}
		board := ""
		if line.Board != "" {
			board = line.Board + ": "
		}
		out.infof("%s%s, %.0f/s%s", board, english.Count(done, unit), rate, left)
	}
}

func newRebuildCmd(p *program) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Rebuild a ranking from PostgreSQL while it stays online", Args: exactArgs(),
		Example: trimExamples(`
  sbctl rebuild --board global
  sbctl rebuild --all --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request()
			if err != nil {
				return err
			}
			if f.dry {
				return rankingStatus(cmd.Context(), p.output, c, r)
			}
			done, err := c.Rebuild(cmd.Context(), r, progress(p.output))
			if err != nil {
				return err
			}
			return p.print(done.Rebuilt, func() *table {
				t := newTable("BOARD", ">EPOCH", ">USERS", ">TOOK")
				for _, b := range done.Rebuilt {
					t.add(b.Board, fmt.Sprint(b.Epoch), fmt.Sprint(b.Users),
						(time.Duration(b.TookMS) * time.Millisecond).String())
				}
				return t
			})
		}),
	}
	cmd.Annotations = map[string]string{
		afterInterrupt: "the current ranking was kept; run the command again to start over",
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only show the status of the rankings")
	return cmd
}

// rankingStatus prints the status of the rankings that a rebuild would replace.
func rankingStatus(ctx context.Context, out *output, c *client.Client, r client.JobRequest) error {
	names := []string{r.Board}
	if r.All {
		var err error
		if names, err = rankedBoards(ctx, c); err != nil {
			return err
		}
	}
	all := make([]client.RankingStatus, 0, len(names))
	for _, name := range names {
		k, err := c.RankingStatus(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	return out.print(all, func() *table {
		t := newTable("BOARD", "STATE", ">EPOCH", ">MEMBERS", ">BYTES")
		for _, k := range all {
			t.add(k.Board, k.ShownState(), fmt.Sprint(k.Epoch), fmt.Sprint(k.Members), fmt.Sprint(k.Bytes))
		}
		return t
	})
}

// rankedBoards lists the boards that should have a ranking.
func rankedBoards(ctx context.Context, c *client.Client) (names []string, err error) {
	for after := ""; ; {
		page, err := c.Boards(ctx, client.BoardQuery{After: after})
		if err != nil {
			return nil, err
		}
		for _, b := range page.Boards {
			family := b.Family == "" && b.Period != "none" // its periods are in the list
			if b.Status != "archived" && !family {
				names = append(names, b.Board)
			}
		}
		if after = page.NextAfter; after == "" {
			return names, nil
		}
	}
}

func addRankingRows(t *table, k *client.RankingStatus) {
	t.add("state", k.ShownState())
	if k.Partitions > 1 {
		t.add("partitions now", fmt.Sprint(k.Partitions))
	}
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
		Use: "verify", Args: exactArgs(),
		Short: "Check that ledger, scores and ranking agree on all boards; exit 3 if they differ",
		Example: trimExamples(`
  sbctl verify
  sbctl verify --board global --user alice`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if f.board == "" {
				f.all = true
			}
			r, err := f.request()
			if err != nil {
				return err
			}
			done, err := c.Verify(cmd.Context(), r, progress(p.output))
			if err != nil {
				return err
			}
			return printVerified(p.output, done)
		}),
	}
	cmd.Annotations = map[string]string{afterInterrupt: "nothing was changed; run the command again to start over"}
	f.add(cmd)
	cmd.Flags().StringVar(&f.user, "user", "", "only this user")
	return cmd
}

func newReconcileCmd(p *program) *cobra.Command {
	var f jobFlags
	var repair bool
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare scores and ranking, and repair the ranking with --repair; exit 3 if differences remain",
		Args:  exactArgs(),
		Example: trimExamples(`
  sbctl reconcile --all
  sbctl reconcile --board global --repair`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request()
			if err != nil {
				return err
			}
			if f.dry && repair {
				return usagef("--dry-run and --repair are mutually exclusive")
			}
			r.Repair = repair
			done, err := c.Reconcile(cmd.Context(), r, progress(p.output))
			if err != nil {
				return err
			}
			return printVerified(p.output, done)
		}),
	}
	cmd.Annotations = map[string]string{
		afterInterrupt: "users repaired so far stay repaired; run the command again to start over",
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.user, "user", "", "only this user")
	cmd.Flags().BoolVar(&repair, "repair", false, "replace wrong ranking entries with those of PostgreSQL")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only compare (the default)")
	return cmd
}

// printVerified prints the result of a comparison; remaining differences are a failed
// check.
func printVerified(out *output, done client.JobLine) error {
	v := done.Verified
	if v == nil {
		return errors.New("the server's response has no result")
	}
	err := out.print(v, func() *table {
		t := newTable("BOARD", "USER", "KIND", "DETAIL")
		for _, d := range v.Differences {
			t.add(d.Board, d.UserID, d.Kind, d.Detail)
		}
		if v.Wrong == 0 {
			t = newTable()
		}
		return t
	})
	rows := ""
	if v.Rows > 0 { // reconcile reads no ledger rows
		rows = " and " + english.Count(v.Rows, "ledger row")
	}
	if v.Rewards > 0 {
		rows += " and " + english.Count(v.Rewards, "reward")
	}
	out.infof("%s%s in %v: %s, %d repaired",
		english.Count(v.Users, "user"), rows, ms(v.TookMS), english.Count(v.Wrong, "difference"), v.Repaired)
	if err == nil && v.Wrong > v.Repaired {
		return errCheckFailed
	}
	return err
}
