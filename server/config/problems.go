package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is an invalid setting. Detail completes a sentence that begins with
// the setting's name.
type Problem struct{ Setting, Detail string }

// InvalidError lists all invalid settings, by name.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	if len(e.Problems) == 1 {
		return "setting " + e.List("")
	}
	return fmt.Sprintf("%d settings are invalid:\n  %s", len(e.Problems), e.List("\n  "))
}

// List joins the problems, such as `outbox.poll must be at least 10ms, not 1ms`.
func (e *InvalidError) List(separator string) string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Setting + " " + p.Detail
	}
	return strings.Join(texts, separator)
}

// problems collects invalid settings, one problem for each. A value that could
// not be parsed is replaced by the default, so later checks add nothing to it.
type problems struct{ found []Problem }

func (p *problems) add(setting, format string, args ...any) {
	if !slices.ContainsFunc(p.found, func(f Problem) bool { return f.Setting == setting }) {
		p.found = append(p.found, Problem{setting, fmt.Sprintf(format, args...)})
	}
}

// err returns nil, or an InvalidError.
func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	slices.SortFunc(p.found, func(a, b Problem) int { return cmp.Compare(a.Setting, b.Setting) })
	return &InvalidError{p.found}
}

func (p *problems) atLeast(setting string, n, bound int) {
	if n < bound {
		p.add(setting, "must be at least %d, not %d", bound, n)
	}
}

func (p *problems) between(setting string, n, low, high int) {
	if n < low || n > high {
		p.add(setting, "must be %d to %d, not %d", low, high, n)
	}
}

func (p *problems) durationAtLeast(setting string, d, bound time.Duration) {
	if d < bound {
		p.add(setting, "must be at least %s, not %s", bound, d)
	}
}

func (p *problems) positive(setting string, d time.Duration) {
	if d <= 0 {
		p.add(setting, "must be greater than 0, not %s", d)
	}
}

func (p *problems) oneOf(setting, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		last := len(allowed) - 1
		p.add(setting, "must be %s or %s, not %q", strings.Join(allowed[:last], ", "), allowed[last], value)
	}
}
