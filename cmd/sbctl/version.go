package main

import (
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
)

func newVersionCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: takes(),
		Example: trimExamples(`
  sbctl version
  sbctl version --output json`),
		RunE: func(*cobra.Command, []string) error {
			b := buildinfo.Read()
			return p.print(b, func() *table {
				t := newTable()
				t.add("version", b.Version)
				if b.Commit != "" {
					t.add("commit", b.Commit)
					t.add("date", b.Date)
				}
				t.add("go", b.Go)
				return t
			})
		},
	}
}
