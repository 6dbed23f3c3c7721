package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The dialects: APIs of other specifications, see package dialect.
const (
	DialectHighscore = "highscore"
	DialectDelta     = "delta"
	DialectModule    = "module"
	DialectPlain     = "plain"
)

// DialectNames are all dialects.
var DialectNames = []string{DialectHighscore, DialectDelta, DialectModule, DialectPlain}

// Dialects are the APIs that a process serves beside its own.
type Dialects struct {
	Names     []string // those that are enabled
	Highscore Dialect
	Delta     Dialect
	Module    Dialect
	Plain     Dialect
}

// Dialect is how one of them is served.
type Dialect struct {
	Base      string // see Mount
	Board     string
	Signature string // SignatureOptional or SignatureRequired
}

// Mount returns where a dialect's paths begin: host is "" for every host, prefix is ""
// or a path without a slash at its end.
func (d *Dialect) Mount() (host, prefix string) {
	prefix = d.Base
	if rest, named := strings.CutPrefix(d.Base, "//"); named {
		host, prefix, _ = strings.Cut(rest, "/")
		prefix = "/" + prefix
	}
	return strings.ToLower(host), strings.TrimSuffix(prefix, "/")
}

// Has reports whether a dialect is enabled.
func (d *Dialects) Has(name string) bool { return slices.Contains(d.Names, name) }

// Named returns the settings of a dialect of DialectNames.
func (d *Dialects) Named(name string) *Dialect {
	return map[string]*Dialect{
		DialectHighscore: &d.Highscore, DialectDelta: &d.Delta, DialectModule: &d.Module, DialectPlain: &d.Plain,
	}[name]
}

func (d *Dialects) settings() []setting {
	table := []setting{{
		"dialects", "APIs of other specifications to serve as well: " + strings.Join(DialectNames, ", "), "", fixed,
		&d.Names,
	}}
	bases := map[string]string{DialectDelta: "/delta"}
	boards := map[string]string{DialectHighscore: "highscore", DialectPlain: "plain"}
	for _, name := range DialectNames {
		one := d.Named(name)
		base, board := bases[name], boards[name]
		if base == "" {
			base = "/"
		}
		if board == "" {
			board = string(scoreboard.GlobalBoard)
		}
		table = append(table,
			setting{
				"dialect." + name + ".base", "path in front of the routes of the dialect " + name +
					", or //host/path to serve them for one host name", base, fixed, &one.Base,
			},
			setting{
				"dialect." + name + ".board", "board of the dialect " + name + ", created when the daemon starts",
				board, fixed, &one.Board,
			},
			setting{
				"dialect." + name + ".signature", "whether its writes need the header signature of the native API as " +
					"well: optional or required", SignatureOptional, fixed, &one.Signature,
			})
	}
	return table
}

// mount is a path, or a host with an optional port and a path.
var mount = regexp.MustCompile(`^(//[A-Za-z0-9.-]+(:[0-9]+)?)?(/[A-Za-z0-9._~-]*)+$`)

func (d *Dialects) check(p *problems) {
	for _, name := range d.Names {
		if !slices.Contains(DialectNames, name) {
			p.add("dialects", "must be one or more of %s, not %q", strings.Join(DialectNames, ", "), name)
		}
	}
	for _, name := range DialectNames {
		one := d.Named(name)
		_, prefix := one.Mount()
		if !mount.MatchString(one.Base) || prefix != "" && path.Clean(prefix) != prefix {
			p.add("dialect."+name+".base", "must be a path such as /%s, or //host/path, not %q", name, one.Base)
		}
		if id, err := scoreboard.ParseBoardID(one.Board); err != nil || id.IsInstance() {
			p.add("dialect."+name+".board", "must be the name of a board, not %q", one.Board)
		}
		p.oneOf("dialect."+name+".signature", one.Signature, SignatureOptional, SignatureRequired)
	}
}
