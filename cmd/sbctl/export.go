package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newExportCmd(p *program) *cobra.Command {
	return newNounCmd("export", "Export boards", `
  sbctl export board global > global.ndjson
  sbctl export board global --output csv > global.csv`,
		newExportBoardCmd(p))
}

func newExportBoardCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "board BOARD", Short: "Export all standings of a board, best first", Args: exactArgs("BOARD"),
		Long: `Export all standings of a board as they are in PostgreSQL at one moment, best first,
with rank, user_id, score and reached_at, and the subscore on boards that have them: one
JSON object a line, or CSV with a header (--output csv). Banned users are not in it. The
audit trail records each export.`,
		Example: trimExamples(`
  sbctl export board global > global.ndjson
  sbctl export board global --output csv > global.csv`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if !slices.Contains([]string{"table", "ndjson", "csv"}, p.format) {
				return usagef("--output of an export must be ndjson or csv, not %q", p.format)
			}
			out := bufio.NewWriter(p.stdout)
			write, flush := ndjsonStandings(out), func() error { return nil }
			if p.format == "csv" {
				write, flush = csvStandings(csv.NewWriter(out))
			}
			rows, err := c.ExportBoard(cmd.Context(), args[0], write)
			if err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
			p.infof("%s", english.Count(rows, "standing"))
			return nil
		}),
	}
}

func ndjsonStandings(out *bufio.Writer) func(client.Standing) error {
	lines := json.NewEncoder(out)
	return func(s client.Standing) error { return lines.Encode(s) }
}

func csvStandings(out *csv.Writer) (write func(client.Standing) error, flush func() error) {
	titled := false
	title := func(subscores bool) { // flush returns what fails
		names := []string{"rank", "user_id", "score", "subscore", "reached_at"}
		if !subscores {
			names = slices.Delete(names, 3, 4)
		}
		titled = true
		_ = out.Write(names)
	}
	write = func(s client.Standing) error {
		if !titled {
			title(s.Subscore != nil)
		}
		row := []string{number(s.Rank), s.UserID, number(s.Score)}
		if s.Subscore != nil { // on all rows or on none
			row = append(row, number(*s.Subscore))
		}
		return out.Write(append(row, s.ReachedAt.Format(time.RFC3339Nano)))
	}
	return write, func() error {
		if !titled {
			title(false)
		}
		out.Flush()
		return out.Error()
	}
}
