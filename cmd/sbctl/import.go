package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

// otherSystem reads boards.
type otherSystem interface {
	// Boards lists the boards; with names only those.
	Boards(ctx context.Context, names []string) ([]sources.Board, error)
	// Records reads a board, best first.
	Records(ctx context.Context, b *sources.Board) ([]scoreboard.ImportRecord, error)
	Close() error
}

// importFlags are the flags that all imports share.
type importFlags struct {
	board    string
	metadata string // of boards that are created
	dry      bool
	follow   bool
	interval time.Duration
}

func (f *importFlags) add(cmd *cobra.Command, board string) {
	cmd.Flags().StringVar(&f.board, "board", "", board)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "only read the other system and show the plan")
}

func (f *importFlags) addFollow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.follow, "follow", false, "import changes until there are none for an interval")
	cmd.Flags().DurationVar(&f.interval, "interval", 10*time.Second, "pause between two reads with --follow")
}

// checkNames checks the flags of an import of boards that have names.
func (f *importFlags) checkNames(names []string) error {
	if f.board != "" && len(names) != 1 {
		return usagef("--board is for one leaderboard; name it")
	}
	if f.interval < time.Second {
		return usagef("--interval must be at least 1s")
	}
	return nil
}

func newImportCmd(p *program) *cobra.Command {
	cmd := newNounCmd("import", "Import the boards of other systems", `
  sbctl import csv scores.csv --board global
  sbctl import nakama --postgres postgres://user@host/nakama --dry-run`,
		withReason(newImportCSVCmd(p)), withReason(newImportNakamaCmd(p)), withReason(newImportPodiumCmd(p)))
	cmd.Long = `Import the boards of other systems.

The plan is printed before anything is written, with what cannot be imported. A server
writes each user's score as an event of the ledger, in the order of the ranks in the
other system, so that equal scores keep their order.

An import can be interrupted and repeated: it writes the difference to what it has
written for the user before, and nothing twice. At the end it compares all users,
scores and the order of the top 100; exit 3 if they differ.`
	return cmd
}

func newImportCSVCmd(p *program) *cobra.Command {
	var f importFlags
	var source string
	cmd := &cobra.Command{
		Use: "csv FILE", Short: "Import a CSV file with the columns user_id and score", Args: exactArgs("FILE"),
		Long: `Import a CSV file (or "-") with the header user_id,score and a line for each user. All
lines are checked before anything is written. Equal scores rank in the order of the lines.
A column subscore is read, too, for a board that has subscores.

Scores are totals: a second file with the same --source writes what has changed since the
first. To add the scores of two systems, give each a --source of its own.`,
		Example: trimExamples(`
  sbctl import csv scores.csv --board global
  sbctl import csv scores.csv --board global --dry-run`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := scoreboard.CheckSource(source); err != nil {
				return usagef("--source: %w", err)
			}
			file, _, err := openSource(p.stdin, args[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			run := importRun{p: p, c: c, flags: f, from: csvFile{file}, source: func(string) string { return source }}
			return run.run(cmd.Context(), nil)
		}),
	}
	cmd.Annotations = map[string]string{afterInterrupt: importResumes}
	f.add(cmd, "the board")
	cmd.Flags().StringVar(&source, "source", "csv", "name of the other system")
	requireFlags(cmd, "board")
	return cmd
}

// importResumes is what an interrupted import prints.
const importResumes = "run the same command again to continue; nothing is counted twice"

// csvFile is a system with one board, whose mode and order are not known.
type csvFile struct{ from io.Reader }

func (f csvFile) Boards(context.Context, []string) ([]sources.Board, error) {
	return []sources.Board{{ID: "csv"}}, nil
}

func (f csvFile) Records(context.Context, *sources.Board) ([]scoreboard.ImportRecord, error) {
	records, err := sources.CSV(f.from)
	if err != nil {
		return nil, &hintedError{err, "correct the file and run the same command again; nothing of it was written"}
	}
	return records, nil
}

func (f csvFile) Close() error { return nil }

func newImportNakamaCmd(p *program) *cobra.Command {
	var f importFlags
	var url string
	cmd := &cobra.Command{
		Use: "nakama [LEADERBOARD…]", Short: "Import leaderboards from Nakama's database",
		Long: `Import leaderboards from Nakama's database: all, or those that are named. Boards that do
not exist are created: the operators best, set and incr become the modes best, latest
and increment; reset schedules become periods (UTC). The user
ids are the owner ids. Of a board that resets, the current period is imported.

A board with subscores is created as one, with the order of its scores for both; on a board that
exists without them, they only decide the order of equal scores.

Metadata is imported to boards that keep it, with each score that has changed; --metadata
says who sees it on boards that are created.`,
		Example: trimExamples(`
  sbctl import nakama --postgres postgres://user@host/nakama --dry-run
  sbctl import nakama laps --postgres postgres://user@host/nakama --metadata public
  sbctl import nakama weekly_kills --postgres postgres://user@host/nakama --board kills --follow`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, names []string) error {
			if err := f.checkNames(names); err != nil {
				return err
			}
			if _, err := scoreboard.ParseMetadataOf(f.metadata); err != nil {
				return usagef("--metadata must be none, self or public, not %q", f.metadata)
			}
			from, err := sources.OpenNakama(cmd.Context(), url)
			if err != nil {
				return err
			}
			defer func() { _ = from.Close() }()
			run := importRun{p: p, c: c, flags: f, from: from, source: prefixed("nakama:")}
			return run.run(cmd.Context(), names)
		}),
	}
	cmd.Annotations = map[string]string{afterInterrupt: importResumes}
	f.add(cmd, "the board, for one leaderboard (default: its id)")
	f.addFollow(cmd)
	cmd.Flags().StringVar(&f.metadata, "metadata", "",
		"who sees metadata on boards that are created: none (it is not imported; the default), self or public")
	cmd.Flags().StringVar(&url, "postgres", "", "URL of Nakama's database, which is only read")
	requireFlags(cmd, "postgres")
	return cmd
}

func newImportPodiumCmd(p *program) *cobra.Command {
	var f importFlags
	var url, order string
	cmd := &cobra.Command{
		Use: "podium [LEADERBOARD…]", Short: "Import leaderboards from Podium's Redis",
		Long: `Import leaderboards from Podium's Redis: all, or those that are named. Boards that do not
exist are created with the mode increment. Redis does not know in which order a board is
read: pass --order lowest for those that are read ascending. Scores must be integers. Expiry
is not imported.`,
		Example: trimExamples(`
  sbctl import podium --redis redis://host:6379/0 --dry-run
  sbctl import podium race-times --redis redis://host:6379/0 --order lowest`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, names []string) error {
			if err := f.checkNames(names); err != nil {
				return err
			}
			by := scoreboard.Order(order)
			if by != scoreboard.OrderHighest && by != scoreboard.OrderLowest {
				return usagef("--order must be highest or lowest, not %q", order)
			}
			from, err := sources.OpenPodium(url, by)
			if err != nil {
				return err
			}
			defer func() { _ = from.Close() }()
			run := importRun{p: p, c: c, flags: f, from: from, source: prefixed("podium:")}
			return run.run(cmd.Context(), names)
		}),
	}
	cmd.Annotations = map[string]string{afterInterrupt: importResumes}
	f.add(cmd, "the board, for one leaderboard (default: its name)")
	f.addFollow(cmd)
	cmd.Flags().StringVar(&url, "redis", "", "URL of Podium's Redis, which is only read")
	cmd.Flags().StringVar(&order, "order", "highest", "which scores rank first: highest or lowest")
	requireFlags(cmd, "redis")
	return cmd
}

func prefixed(prefix string) func(string) string {
	return func(id string) string { return prefix + id }
}

// planned is one board of the plan.
type planned struct {
	Source      string   `json:"source"`
	Board       string   `json:"board"`
	Create      bool     `json:"create"`
	Mode        string   `json:"mode"`
	Order       string   `json:"order"`
	Period      string   `json:"period"`
	Schedule    string   `json:"schedule,omitempty"` // of a board with the period cron
	Subscore    string   `json:"subscore,omitempty"` // which ranks first among equal scores; absent for none
	Metadata    string   `json:"metadata,omitempty"` // who sees it; not imported if absent or none
	Records     int      `json:"records"`
	Imported    int64    `json:"imported"` // users, by earlier runs
	NotImported []string `json:"not_imported"`
	Problem     string   `json:"problem,omitempty"` // why it is not imported

	from    sources.Board
	records []scoreboard.ImportRecord
	id      int64 // of the import
	written map[scoreboard.UserID]scoreboard.Pair
}

// noteCell is what an operator should know about a board of the plan.
func (b *planned) noteCell() string {
	switch {
	case b.Problem != "":
		return "not imported: " + b.Problem
	case len(b.NotImported) > 0:
		return "without " + strings.Join(b.NotImported, ", ")
	case b.Create:
		return "will be created"
	}
	return ""
}

func planTable(plan []*planned) *table {
	t := newTable("SOURCE", "BOARD", "MODE", "ORDER", "PERIOD", ">RECORDS", ">IMPORTED", "NOTE")
	for _, b := range plan {
		t.add(b.Source, b.Board, b.Mode, b.Order, cmp.Or(b.Schedule, b.Period), fmt.Sprint(b.Records),
			fmt.Sprint(b.Imported), b.noteCell())
	}
	return t
}
