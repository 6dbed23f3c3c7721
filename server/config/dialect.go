package config

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// DeltaMin and DeltaMax are the bounds of deltas on the board of delta; "" leaves them as
	// they are.
	DeltaMin, DeltaMax string
	// ActionMin is how long an action lasts at least on the board of highscore, as created.
	ActionMin time.Duration
}

// Dialect is how one of them is served.
type Dialect struct {
	Base      string // see Mount
	Board     string
	Signature string // SignatureOptional, SignatureRequired, or "" for what its board implies
}

// OwnsBoard reports whether the scores of a dialect of DialectNames count on the board of
// its name, which is made for it. What its specification leaves open is open there only.
func (d *Dialects) OwnsBoard(name string) bool { return d.Named(name).Board == name }

// SignatureOptional reports whether the writes of a dialect need no header signature.
func (d *Dialects) SignatureOptional(name string) bool {
	one := d.Named(name)
	return one.Signature == SignatureOptional || one.Signature == "" && d.OwnsBoard(name)
}

// Unsigned lists the dialects that are enabled and were explicitly set to accept writes
// without the header signature.
func (d *Dialects) Unsigned() (names []string) {
	for _, name := range DialectNames {
		if d.Has(name) && d.Named(name).Signature == SignatureOptional {
			names = append(names, name)
		}
	}
	return names
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
	for _, name := range DialectNames {
		one := d.Named(name)
		base := bases[name]
		if base == "" {
			base = "/"
		}
		table = append(table,
			setting{
				"dialect." + name + ".base", "path in front of the routes of the dialect " + name +
					", or //host/path to serve them for one host name", base, fixed, &one.Base,
			},
			setting{
				"dialect." + name + ".board", "board of the dialect " + name + ", created when the daemon starts",
				name, fixed, &one.Board,
			},
			setting{
				"dialect." + name + ".signature", "whether its writes need the header signature of the native API as " +
					"well: optional or required; if empty, optional on the board " + name +
					" and required on every other",
				"", fixed, &one.Signature,
			})
	}
	return append(table,
		setting{
			"dialect.delta.min_delta", "minimum scoreDelta, set on the board of the dialect delta when the daemon " +
				"starts; if empty, the board's is not changed", "", fixed, &d.DeltaMin,
		},
		setting{
			"dialect.delta.max_delta", "maximum scoreDelta, set likewise", "", fixed, &d.DeltaMax,
		},
		setting{
			"dialect.highscore.action_min", "minimum duration of an action on the board of the dialect highscore, " +
				"when the daemon creates it", "1s", fixed, &d.ActionMin,
		})
}

// DeltaBounds returns the bounds that are set for the board of the dialect delta, nil for
// none.
func (d *Dialects) DeltaBounds() (lowest, highest *int64) {
	bound := func(text string) *int64 {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &n
		}
		return nil
	}
	return bound(d.DeltaMin), bound(d.DeltaMax)
}

func (d *Dialects) checkBounds(p *problems) {
	for name, text := range map[string]string{
		"dialect.delta.min_delta": d.DeltaMin, "dialect.delta.max_delta": d.DeltaMax,
	} {
		n, err := strconv.ParseInt(text, 10, 64)
		if text != "" && (err != nil || !scoreboard.Score(n).InRange()) {
			p.add(name, "must be a whole number within ±(2^53 − 1), not %q", text)
		}
	}
	if lowest, highest := d.DeltaBounds(); lowest != nil && highest != nil && *lowest > *highest {
		p.add("dialect.delta.min_delta", "(%d) must not be greater than dialect.delta.max_delta (%d)", *lowest,
			*highest)
	}
	if d.ActionMin < 0 || d.ActionMin >= scoreboard.DefaultActionTTL {
		p.add("dialect.highscore.action_min", "must be 0 or greater and less than %s, not %s",
			scoreboard.DefaultActionTTL, d.ActionMin)
	}
}

// mount is a path, or a host with an optional port and a path.
var mount = regexp.MustCompile(`^(//[A-Za-z0-9.-]+(:[0-9]+)?)?(/[A-Za-z0-9._~-]*)+$`)

func (d *Dialects) check(p *problems) {
	for _, name := range d.Names {
		if !slices.Contains(DialectNames, name) {
			p.add("dialects", "must be one or more of %s, not %q", strings.Join(DialectNames, ", "), name)
		}
	}
	d.checkBounds(p)
	for _, name := range DialectNames {
		one := d.Named(name)
		_, prefix := one.Mount()
		if !mount.MatchString(one.Base) || prefix != "" && path.Clean(prefix) != prefix {
			p.add("dialect."+name+".base", "must be a path such as /%s, or //host/path, not %q", name, one.Base)
		}
		if id, err := scoreboard.ParseBoardID(one.Board); err != nil || id.IsInstance() {
			p.add("dialect."+name+".board", "must be the name of a board, not %q", one.Board)
		}
		if one.Signature != "" {
			p.oneOf("dialect."+name+".signature", one.Signature, SignatureOptional, SignatureRequired)
		}
	}
}
