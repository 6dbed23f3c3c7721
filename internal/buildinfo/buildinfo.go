// Package buildinfo reports the version, commit and toolchain of a binary.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Set by the linker where the toolchain cannot know them: for a release that
// is built from an archive of the sources.
var version, commit, date string

// Info is what a binary was made of.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the sources were not all of the commit
	Date    string `json:"date,omitempty"`    // of the commit
	Go      string `json:"go"`
}

// Read returns what the linker was told, else what the Go toolchain wrote into
// the binary.
func Read() Info {
	b := Info{Version: "devel", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.Version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Changed = s.Value == "true"
			case "vcs.time":
				b.Date = s.Value
			}
		}
	}
	for _, set := range []struct{ to, from *string }{{&b.Version, &version}, {&b.Commit, &commit}, {&b.Date, &date}} {
		if *set.from != "" {
			*set.to = *set.from
		}
	}
	return b
}
