package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newScoreCmd(p *program) *cobra.Command {
	return newNounCmd("score", "Submit and read scores", `
  sbctl score submit --user alice --delta 5
  sbctl score get alice`,
		newScoreSubmitCmd(p), newScoreGetCmd(p), newScoreStatementCmd(p))
}

func newScoreGetCmd(p *program) *cobra.Command {
	var board string
	cmd := &cobra.Command{
		Use: "get USER", Short: "Show a user's score and rank", Args: takes("USER"),
		Example: trimExamples(`
  sbctl score get alice
  sbctl score get alice --board global --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			place, err := c.Score(cmd.Context(), args[0], client.PlaceQuery{Board: board})
			if err != nil {
				return err
			}
			return p.print(place, func() *table { return placeTable(place) })
		}),
	}
	addBoardFlag(cmd, &board)
	return cmd
}

func placeTable(place client.Place) *table {
	t := newTable()
	t.add("user", place.UserID)
	t.add("board", place.Board)
	t.add("score", number(place.Score))
	t.add("rank", fmt.Sprintf("%d of %d", place.Rank, place.Total))
	t.add("ahead of", fmt.Sprintf("%.1f %% of the users", place.Percentile))
	addFreshness(t, place.AgeMS, place.Degraded, place.DegradedReason)
	return t
}

func addFreshness(t *table, ageMS int64, degraded bool, reason string) {
	t.add("age", (time.Duration(ageMS) * time.Millisecond).String())
	if degraded {
		t.add("degraded", reason)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// submitFlags are those of score submit.
type submitFlags struct {
	in      client.Increment
	boards  []string
	file    string
	results string
	workers int
}

func newScoreSubmitCmd(p *program) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use: "submit", Short: "Submit signed increments, one by flags or many from a file", Args: takes(),
		Long: `Submit signed increments, one by flags or many from a file.

An event id counts once for its user, however often it is submitted. When a
submit fails, its event id is printed: the same command with --event-id is then
safe.

--file takes NDJSON, lines of {"user_id", "delta", "event_id"?, "board"?,
"action"?}, or CSV with these names as its first line, when the name ends in
.csv. Lines go in batches, which need the scope score:update; with the token of a
user they go one by one. Every line's outcome goes to the result file
(FILE.results, or --results), and the same command again resumes where it was
stopped: refused lines may be corrected until then and new ones added at the end,
while those that were sent must stay as and where they are. At the end it says how many lines it has read, and of these how many were
counted now, how many events the server had counted before (known already), how many
lines it refused, how many were not sent because it was away, and how many an earlier
run had dealt with (done earlier). Exit code 3 says that some were refused.`,
		Example: trimExamples(`
  sbctl score submit --user alice --delta 5
  sbctl score submit --user alice --delta 5 --event-id match-8841 --board global
  sbctl score submit --file events.ndjson --workers 4`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if f.file != "" {
				return p.submitFile(cmd, c, &f)
			}
			return p.submitOne(cmd, c, &f)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.in.User, "user", "", "the user")
	flags.Int64Var(&f.in.Delta, "delta", 0, "what to add; on best and latest boards the score")
	flags.StringVar(&f.in.EventID, "event-id", "", "the event's id (default a new one)")
	flags.StringSliceVar(&f.boards, "board", nil, "the board, or several (default global)")
	flags.StringVar(&f.in.Action, "action", "", "what the user did")
	flags.StringVar(&f.in.ActionToken, "action-token", "", "the token of an action that was started (POST /v1/actions)")
	flags.StringVar(&f.in.Attestation, "attestation", "", "what an authoritative server has signed")
	flags.StringVar(&f.file, "file", "", "submit the lines of this file, - for stdin")
	flags.StringVar(&f.results, "results", "", "where the outcome of each line is kept (default FILE.results)")
	flags.IntVar(&f.workers, "workers", 8, "requests of a file in flight at once, 1 to 256")
	return cmd
}

func (p *program) submitOne(cmd *cobra.Command, c *client.Client, f *submitFlags) error {
	if f.in.User == "" {
		return usagef("--user is missing")
	}
	if !cmd.Flags().Changed("delta") {
		return usagef("--delta is missing")
	}
	ctx := tellWaits(cmd.Context(), p.say)
	if len(f.boards) > 1 {
		receipts, err := c.SubmitBoards(ctx, f.in, f.boards)
		if err != nil {
			return err
		}
		return p.print(receipts, func() *table { return receiptsTable(receipts) })
	}
	if len(f.boards) == 1 {
		f.in.Board = f.boards[0]
	}
	receipt, err := c.Submit(ctx, f.in)
	if err != nil {
		return err
	}
	return p.print(receipt, func() *table { return receiptTable(receipt) })
}

// tellWaits says once that the server asks for patience, and for how much.
func tellWaits(ctx context.Context, say func(format string, args ...any)) context.Context {
	var once sync.Once
	return client.TellWaits(ctx, func(wait time.Duration, why *client.Error) {
		once.Do(func() { say("waiting %v, as the server asks: %s (%s)", wait, why.Message, why.Code) })
	})
}

func receiptTable(r client.Receipt) *table {
	t := newTable()
	if r.Status == "pending" {
		t.add("event", r.ProcessedEventID)
		t.add("status", r.Status)
		return t
	}
	t.add("user", r.UserID)
	t.add("board", r.Board)
	t.add("score", fmt.Sprintf("%d (%+d)", r.NewScore, r.Applied))
	t.add("rank", rankOf(r))
	t.add("version", number(r.Version))
	t.add("event", r.ProcessedEventID)
	t.add("recorded", r.RecordedAt.Format(time.RFC3339Nano))
	if r.Replayed {
		t.add("replayed", "yes: this event was counted before")
		t.rename("rank", rankToday)
	}
	if r.Reversed {
		t.add("reversed", "yes: this event was taken back")
	}
	return t
}

// rankToday is what the rank of a repeat is: the one field that is not the first
// receipt's.
const rankToday = "rank today"

func receiptsTable(receipts []client.Receipt) *table {
	t := newTable("BOARD", "USER", ">SCORE", ">APPLIED", ">RANK", "EVENT", "REPLAYED")
	for _, r := range receipts {
		replayed := "no"
		if r.Replayed { // and so are the others
			replayed = "yes"
			t.rename("RANK", strings.ToUpper(rankToday))
		}
		t.add(r.Board, r.UserID, number(r.NewScore), fmt.Sprintf("%+d", r.Applied), rankOf(r), r.ProcessedEventID, replayed)
	}
	return t
}

func rankOf(r client.Receipt) string {
	if r.Rank == nil {
		return "unknown just now"
	}
	return number(*r.Rank)
}
