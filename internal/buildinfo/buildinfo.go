// Package buildinfo reports the version, commit and toolchain of a binary.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Set by the linker for releases built from a source archive, where the toolchain
// does not know them.
var version, commit, date string

// Info describes how a binary was built.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // built with uncommitted changes
	Date    string `json:"date,omitempty"`    // of the commit
	Go      string `json:"go"`
}

// Read returns the values set by the linker, or else the build info of the Go
// toolchain.
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
