// Package buildinfo reports the version, commit and toolchain of a binary.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Release is the version of this source: of the next release until its tag exists, of the last one after.
// Whatever else states it is written from it by: go test ./internal/buildinfo -run Release -update.
const Release = "1.0.0"

// Set by the linker for releases and images. version is what git describe says, or a tag.
var version, commit, date string

// Info describes how a binary was built.
type Info struct {
	Version string `json:"version"` // Release, and after a plus sign what distinguishes another build from it
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // built with uncommitted changes
	Date    string `json:"date,omitempty"`    // of the commit
	Go      string `json:"go"`
}

// Read returns the values set by the linker, or else the build info of the Go
// toolchain.
func Read() Info {
	b, described, module := Info{Go: runtime.Version()}, version, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
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
	if commit != "" {
		b.Commit = commit
	}
	if date != "" {
		b.Date = date
	}
	switch {
	case described != "":
	case module == "v"+Release || b.Commit == "" && module != "(devel)": // go install has no commit
		described = module
	case b.Commit != "":
		described = b.Commit[:min(len(b.Commit), 12)]
		if b.Changed {
			described += "-dirty"
		}
	}
	b.Version = name(described)
	return b
}

// name returns the version of a build that git describe, or the commit, names so: 1.0.0 for the tag v1.0.0,
// 1.0.0+3-g0123abc for the third commit after it.
func name(described string) string {
	described = strings.TrimPrefix(described, "v")
	if described == Release || strings.HasPrefix(described, Release+"+") {
		return described
	}
	if described == "" {
		described = "devel"
	}
	return Release + "+" + strings.TrimPrefix(described, Release+"-")
}
