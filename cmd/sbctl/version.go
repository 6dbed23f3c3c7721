package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what this binary was made of.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
}

// buildVersion reads what the Go toolchain wrote into the binary.
func buildVersion() build {
	b := build{Version: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
}

func newVersionCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: takes(),
		Example: trimExamples(`
  sbctl version
  sbctl version --output json`),
		RunE: func(*cobra.Command, []string) error {
			b := buildVersion()
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
