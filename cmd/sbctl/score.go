package main

import (
	"context"
	"encoding/json"
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
		Use: "get USER", Short: "Show a user's score and rank", Args: exactArgs("USER"),
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
	addSubscore(t, "subscore", place.Subscore)
	t.add("rank", fmt.Sprintf("%d of %d", place.Rank, place.Total))
	if place.Metadata != "" {
		t.add("metadata", string(place.Metadata))
	}
	t.add("ahead of", fmt.Sprintf("%.1f %% of users", place.Percentile))
	if tier := tierCell(&place); tier != "" {
		t.add("tier", tier)
	}
	if place.Private {
		t.add("private", privateNote)
	}
	addFreshness(t, place.AgeMS, place.Degraded, place.DegradedReason)
	return t
}

// privateNote says what the rank of a private user is.
const privateNote = "on no board; the rank is the one that the score would have"

func addFreshness(t *table, ageMS int64, degraded bool, reason string) {
	t.add("age", (time.Duration(ageMS) * time.Millisecond).String())
	if degraded {
		t.add("degraded", reason)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// addSubscore adds a row with a subscore; none on a board without subscores.
func addSubscore(t *table, name string, subscore *int64) {
	if subscore != nil {
		t.add(name, number(*subscore))
	}
}

// subscoreCell is a subscore in a table; "" on a board without subscores.
func subscoreCell(subscore *int64) string {
	if subscore == nil {
		return ""
	}
	return number(*subscore)
}

// submitFlags are those of score submit.
type submitFlags struct {
	in         client.Increment
	boards     []string
	attributes []string
	metadata   string
	subscore   int64
	file       string
	results    string
	workers    int
}

func newScoreSubmitCmd(p *program) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use: "submit", Short: "Submit signed increments from flags or a file", Args: exactArgs(),
		Long: `Submit signed increments, one from flags or many from a file.

The server counts an event id of a user once, however often it is submitted. A
failed submit prints its event id; retrying with --event-id is safe.

--file takes NDJSON, lines of {"user_id", "delta", "event_id"?, "board"?,
"action"?, "attributes"?, "if_period"?, "metadata"?, "subscore"?}, or, if its name ends in .csv,
CSV with these names in the first line.
Lines are sent in batches, which require the scope score:update; with a user's
token they are sent one by one.

The outcome of every line is written to the result file (FILE.results, or
--results). Running the same command again resumes after an interruption. Rejected
lines may be corrected and new lines appended in between; lines already sent must
not change or move. The summary counts the lines that were read: counted, repeats of
events that were already counted, rejected, not sent because the server was
unreachable, and finished by an earlier run. Exit code 3: some lines were rejected.`,
		Example: trimExamples(`
  sbctl score submit --user alice --delta 5
  sbctl score submit --user alice --delta 5 --event-id match-8841 --board global
  sbctl score submit --user alice --delta 5 --attribute region=eu --attribute platform=pc
  sbctl score submit --user alice --delta 3 --board league-table --subscore 2
  sbctl score submit --user alice --delta 5 --board weekly --if-period weekly:2026-w47
  sbctl score submit --file events.ndjson --workers 4`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if f.file != "" && p.curl {
				return usagef("--curl is for one increment, not for --file")
			}
			if f.file != "" {
				return submitFile(p.connector, p.output, cmd, c, &f)
			}
			return submitOne(p.output, cmd, c, &f)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.in.User, "user", "", "user id")
	flags.Int64Var(&f.in.Delta, "delta", 0, "amount to add; on best and latest boards the score")
	flags.StringVar(&f.in.EventID, "event-id", "", "event id (default: a new one)")
	flags.StringSliceVar(&f.boards, "board", nil, "board, or several (default global)")
	flags.StringVar(&f.in.Action, "action", "", "name of the user's action")
	flags.StringArrayVar(&f.attributes, "attribute", nil,
		"`name=value` for board rules, such as region=eu; repeat it for more")
	flags.StringVar(&f.in.IfPeriod, "if-period", "",
		"count only while this is the current `period` of the board, such as weekly:2026-w47")
	flags.StringVar(&f.metadata, "metadata", "", "JSON `object` to keep with it, on boards that keep metadata")
	flags.Int64Var(&f.subscore, "subscore", 0, "what decides among equal scores, on boards that have subscores")
	flags.StringVar(&f.in.ActionToken, "action-token", "", "token of a started action (POST /v1/actions)")
	flags.StringVar(&f.in.Attestation, "attestation", "", "attestation signed by a game server")
	flags.StringVar(&f.file, "file", "", "submit the lines of this file; - reads stdin")
	flags.StringVar(&f.results, "results", "", "path of the result file (default FILE.results)")
	flags.IntVar(&f.workers, "workers", 8, "maximum number of requests in flight with --file, 1 to 256")
	return cmd
}

func submitOne(out *output, cmd *cobra.Command, c *client.Client, f *submitFlags) error {
	if f.in.User == "" {
		return usagef("--user is required")
	}
	if !cmd.Flags().Changed("delta") {
		return usagef("--delta is required")
	}
	var err error
	if f.in.Attributes, err = incrementAttributes(f.attributes); err != nil {
		return err
	}
	if f.metadata != "" {
		if !json.Valid([]byte(f.metadata)) {
			return usagef("--metadata must be a JSON object")
		}
		f.in.Metadata = json.RawMessage(f.metadata)
	}
	if cmd.Flags().Changed("subscore") {
		f.in.Subscore = &f.subscore
	}
	ctx := noteWaits(cmd.Context(), out.infof)
	if len(f.boards) > 1 {
		receipts, err := c.SubmitBoards(ctx, f.in, f.boards)
		if err != nil {
			return err
		}
		return out.print(receipts, func() *table { return receiptsTable(receipts) })
	}
	if len(f.boards) == 1 {
		f.in.Board = f.boards[0]
	}
	receipt, err := c.Submit(ctx, f.in)
	if err != nil {
		return err
	}
	return out.print(receipt, func() *table {
		if len(receipt.Matched) > 0 {
			return receiptsTable(append([]client.Receipt{receipt}, receipt.Matched...))
		}
		return receiptTable(receipt)
	})
}

// noteWaits prints the first wait that the server asks for with Retry-After.
func noteWaits(ctx context.Context, infof func(format string, args ...any)) context.Context {
	var once sync.Once
	return client.OnRetryAfter(ctx, func(wait time.Duration, e *client.Error) {
		once.Do(func() { infof("waiting %v before a retry: %s", wait, e.Message) })
	})
}

func receiptTable(r client.Receipt) *table {
	t := newTable()
	t.add("user", r.UserID)
	t.add("board", r.Board)
	t.add("score", fmt.Sprintf("%d (%+d)", r.NewScore, r.Applied))
	addSubscore(t, "subscore", r.NewSubscore)
	t.add("rank", rankOf(r))
	t.add("version", number(r.Version))
	t.add("event", r.ProcessedEventID)
	t.add("recorded", r.RecordedAt.Format(time.RFC3339Nano))
	if r.Replayed {
		t.add("replayed", "yes: the event was already counted")
		t.rename("rank", currentRank)
	}
	if r.Reversed {
		t.add("reversed", "yes: the event was reversed")
	}
	return t
}

// currentRank labels the rank of a repeat: the only field that differs from the
// first receipt.
const currentRank = "current rank"

func receiptsTable(receipts []client.Receipt) *table {
	t := newTable("BOARD", "USER", ">SCORE", ">SUBSCORE", ">APPLIED", ">RANK", "EVENT", "REPLAYED")
	for _, r := range receipts {
		replayed := "no"
		if r.Replayed { // then all of them are
			replayed = "yes"
			t.rename("RANK", strings.ToUpper(currentRank))
		}
		t.add(r.Board, r.UserID, number(r.NewScore), subscoreCell(r.NewSubscore), fmt.Sprintf("%+d", r.Applied),
			rankOf(r), r.ProcessedEventID, replayed)
	}
	return t.withoutEmpty("SUBSCORE")
}

func rankOf(r client.Receipt) string {
	if r.Rank == nil {
		return "unknown"
	}
	return number(*r.Rank)
}
