package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/freshness"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// cleaned is the outcome of load clean.
type cleaned struct {
	Prefix string   `json:"prefix"` // of the users of the run, beside those that measure freshness
	Boards []string `json:"boards"`
	Users  int      `json:"users"`  // found on the boards
	Erased int64    `json:"erased"` // 0 with --dry-run
}

// eraseWorkers is the number of users that are erased at the same time.
const eraseWorkers = 8

func newLoadCleanCmd(p *program) *cobra.Command {
	var dry bool
	reason := "clean-up after a load test"
	cmd := &cobra.Command{
		Use: "clean PATH", Short: "Erase the users of a recorded run", Args: exactArgs("PATH"),
		Long: `Erase the users of a recorded run, so that no board shows them: PATH is its folder or
its raw.zst. Each run has users of its own, whose ids begin with a prefix that no other
run has; it is in the record. The users with which runs measure freshness
(loadgen-pulse-…) are those of all runs, and are erased, too: do not clean up while
another run measures. The ledger stays, under anonymous names, as after "sbctl
user erase". The token needs score:admin. It can be interrupted and run again.`,
		Example: trimExamples(`
  sbctl load clean out/load/2026-11-22-101500-4711 --dry-run
  sbctl load clean out/accept --yes`),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := readRun(args[0])
			if err != nil {
				return err
			}
			c, err := p.client()
			if err != nil {
				return err
			}
			defer c.Close()
			return cleanRun(cmd.Context(), p.confirmation, p.output, c, &done, reason, dry)
		},
	}
	cmd.Annotations = map[string]string{afterInterrupt: "users erased so far stay erased; run the command again"}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count the users")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason for the audit trail")
	return cmd
}

// readRun reads what a recorded run wrote to: the prefix of its users, and its boards.
func readRun(path string) (done cleaned, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, loadgen.RawFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return done, err
	}
	defer func() { _ = f.Close() }()
	h, err := record.ReadHeader(f)
	if err != nil {
		return done, fmt.Errorf("%s: %w", path, err)
	}
	if h.Prefix == "" { // every user's id begins with it
		return done, fmt.Errorf("%s does not say which users are the run's", path)
	}
	done.Prefix = h.Prefix
	boards, _ := h.Parameters["boards"].([]any)
	for _, name := range boards {
		done.Boards = append(done.Boards, fmt.Sprint(name))
	}
	if len(done.Boards) == 0 {
		done.Boards = []string{string(scoreboard.GlobalBoard)}
	}
	return done, nil
}

func cleanRun(
	ctx context.Context, ask *confirmation, out *output, c *client.Client, done *cleaned, reason string, dry bool,
) error {
	users, err := usersWithPrefix(ctx, c, done.Boards, done.Prefix, freshness.UserPrefix)
	if err != nil {
		return err
	}
	if done.Users = len(users); done.Users > 0 && !dry {
		question := fmt.Sprintf("Erase %s whose ids begin with %s or %s? This cannot be undone.",
			english.Count(done.Users, "user"), done.Prefix, freshness.UserPrefix)
		if err := ask.confirm(ctx, question); err != nil {
			return err
		}
		if done.Erased, err = eraseAll(ctx, out, c, users, reason); err != nil {
			return fmt.Errorf("after %d of %s: %w", done.Erased, english.Count(done.Users, "user"), err)
		}
	}
	return out.print(done, func() *table {
		t := newTable()
		t.add("users", fmt.Sprintf("%d of %s…", done.Users, done.Prefix))
		t.add("boards", strings.Join(done.Boards, ", "))
		t.add("erased", number(done.Erased))
		return t
	})
}

// usersWithPrefix lists the users of the boards whose ids begin with one of the prefixes.
func usersWithPrefix(
	ctx context.Context, c *client.Client, boards []string, prefixes ...string,
) ([]string, error) {
	seen := map[string]bool{}
	var users []string
	for _, board := range boards {
		for q := (client.TopQuery{Board: board, Limit: 100}); ; {
			page, err := c.Top(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, e := range page.Entries {
				of := func(prefix string) bool { return strings.HasPrefix(e.UserID, prefix) }
				if slices.ContainsFunc(prefixes, of) && !seen[e.UserID] {
					seen[e.UserID] = true
					users = append(users, e.UserID)
				}
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				break
			}
		}
	}
	return users, nil
}

// eraseAll erases users and reports progress once a second. Users that are erased already
// count.
func eraseAll(ctx context.Context, out *output, c *client.Client, users []string, reason string) (int64, error) {
	var erased atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(eraseWorkers)
	reported := time.Now()
	for _, user := range users {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			_, err := c.Erase(ctx, user, reason)
			switch wire.CodeOf(err) {
			case wire.CodeGone, wire.CodeNotFound:
				err = nil
			}
			if err == nil {
				erased.Add(1)
			}
			return err
		})
		if time.Since(reported) > time.Second {
			reported = time.Now()
			out.infof("%d of %s erased", erased.Load(), english.Count(len(users), "user"))
		}
	}
	err := group.Wait()
	return erased.Load(), err
}
