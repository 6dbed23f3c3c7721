// Package promise compares what other programs rely on with what 1.0.0 promised (docs/versions.md): testdata/1 has
// a file for each surface, with a line for each fact. A release of major version 1 adds lines, and takes none away.
//
//	go test ./internal/test/promise -update    records what was added
//	go test ./internal/test/promise -rewrite   records everything from scratch: for 1.0.0 or a new major version
package promise_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// facts are what a surface promises: a name, and what is promised about it. In names, a leading "in " stands before
// what clients send, "out " before what they receive.
type facts map[string]string

func (f facts) add(name, value string) { f[name] = value }

// text returns the facts as lines, sorted.
func (f facts) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%s: %s\n", name, f[name])
	}
	return b.String()
}

// parse reads what text returned.
func parse(text string) facts {
	f := facts{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			f.add(name, value)
		}
	}
	return f
}

// compare returns what present breaks of promised, a sentence each, and the names that it adds.
func compare(promised, present facts) (broken, added []string) {
	for _, name := range slices.Sorted(maps.Keys(promised)) {
		old := promised[name]
		value, ok := present[name]
		switch {
		case !ok && !mayGo(name):
			broken = append(broken, fmt.Sprintf("%s was removed or renamed, and 1.0.0 promised it (%s)", name, old))
		case ok && value != old && !mayBecome(name, old, value):
			broken = append(broken, fmt.Sprintf("%s was %s in 1.0.0 and is now %s", name, old, value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if _, ok := promised[name]; ok {
			continue
		}
		added = append(added, name)
		if reason := mayNotCome(promised, name, present[name]); reason != "" {
			broken = append(broken, fmt.Sprintf("%s (%s) is new, %s", name, present[name], reason))
		}
	}
	return broken, added
}

// Words at the end of names of bounds.
const (
	atMost   = " at most"
	atLeast  = " at least"
	pattern  = " pattern"  // a regular expression
	distinct = " distinct" // a list without duplicates
	together = " together" // which fields
)

// mayGo reports whether a fact can be removed: a bound of what clients send.
func mayGo(name string) bool {
	for _, bound := range []string{atMost, atLeast, pattern, distinct, together} {
		if strings.HasSuffix(name, bound) {
			return true
		}
	}
	return false
}

// mayBecome reports whether a fact can change so.
func mayBecome(name, old, value string) bool {
	before, after := number(old), number(value)
	switch {
	case strings.HasSuffix(name, atMost):
		return after >= before
	case strings.HasSuffix(name, atLeast):
		return after <= before
	case strings.HasPrefix(name, "in "):
		return value == strings.Replace(old, "required ", "optional ", 1)
	case strings.HasPrefix(name, "command "):
		return value == strings.TrimPrefix(old, "required ")
	case strings.HasPrefix(name, "out "):
		return value == strings.Replace(old, "optional ", "required ", 1)
	case strings.HasPrefix(name, "setting "):
		return value == strings.Replace(old, "restart", "live", 1)
	}
	return false
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

// request is the beginning of the name of a part of a request: of a route, or of the request that opens a stream.
var request = regexp.MustCompile(`^in ([A-Z]+ /\S*|channel \S+) `)

// mayNotCome returns why a fact cannot be added to what 1.0.0 promised, or "".
func mayNotCome(promised facts, name, value string) string {
	parent := name[:strings.LastIndexAny(name, ". ")]
	for _, bound := range []string{atMost, atLeast, pattern, distinct, together} {
		if of, ok := strings.CutSuffix(name, bound); ok {
			for _, count := range []string{" length", " items", " properties"} {
				of = strings.TrimSuffix(of, count)
			}
			if _, was := promised[of]; was || hasPrefix(promised, of+".") {
				return "and clients of 1.0.0 send values outside it"
			}
			return ""
		}
	}
	if metric, _, isLabel := strings.Cut(name, " label "); isLabel {
		if _, was := promised[metric]; was {
			return "and queries of 1.0.0 do not aggregate over it"
		}
	}
	field, _, isValue := strings.Cut(name, " = ")
	switch {
	case isValue && strings.HasPrefix(name, "out ") && !strings.HasSuffix(field, "error_code") &&
		hasPrefix(promised, field+" = "):
		return "and clients of 1.0.0 know all values of this field: it is an enum in what they receive"
	case isValue && strings.HasPrefix(name, "in ") && !hasPrefix(promised, field+" = "):
		if _, was := promised[field]; was {
			return "and clients of 1.0.0 send other values"
		}
	case strings.HasPrefix(name, "command ") && strings.HasPrefix(value, "required "):
		if _, was := promised[parent]; was {
			return "and scripts of 1.0.0 do not give it: it must be optional"
		}
	case strings.HasPrefix(name, "in ") && strings.HasPrefix(value, "required "):
		of := []string{parent, strings.TrimPrefix(parent, "in ")} // a schema, a function
		if m := request.FindStringSubmatch(name); m != nil {
			of = append(of, m[1])
		}
		for _, of := range of {
			if _, was := promised[of]; was || hasPrefix(promised, of+".") {
				return "and clients of 1.0.0 do not send it: it must be optional"
			}
		}
	}
	return ""
}

func hasPrefix(f facts, prefix string) bool {
	for name := range f {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
