package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Formats of a time without a date, and of one with a date.
var (
	clockLayouts = []string{"15:04", "15:04:05"}
	dateLayouts  = []string{
		time.RFC3339, time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05",
	}
)

// timeExamples are what error messages offer.
const timeExamples = `1h, "yesterday 18:00", 2026-11-21 or 2026-11-21T12:00:00Z`

// parseTime parses a time: RFC 3339, a date, a date with a time of day, a time of day, or
// now, today, yesterday or tomorrow, the latter three with an optional time of day.
// Without a zone it is in UTC, like the times that sbctl prints. A duration such as 90m,
// 2d or 1w is that long before now, or after it with ahead; "ago", "in" and a sign say so
// themselves.
func parseTime(text string, now time.Time, ahead bool) (time.Time, bool) {
	now = now.UTC()
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	if d, ok := parseOffset(text, ahead); ok {
		return now.Add(d), true
	}
	word, clock, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	days, named := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[word]
	switch {
	case word == "now" && clock == "":
		return now, true
	case !named && clock == "":
		days, clock = 0, word
	case !named:
		return time.Time{}, false
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day()+days, 0, 0, 0, 0, time.UTC)
	if named && clock == "" {
		return midnight, true
	}
	for _, layout := range clockLayouts {
		if t, err := time.Parse(layout, strings.TrimSpace(clock)); err == nil {
			return midnight.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
				time.Duration(t.Second())*time.Second), true
		}
	}
	return time.Time{}, false
}

// daysAndWeeks are the units that time.ParseDuration does not have.
var daysAndWeeks = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$`)

// parseOffset parses a duration from now.
func parseOffset(text string, ahead bool) (time.Duration, bool) {
	text = strings.TrimSpace(strings.ToLower(text))
	if rest, ok := strings.CutSuffix(text, " ago"); ok {
		text, ahead = rest, false
	} else if rest, ok := strings.CutPrefix(text, "in "); ok {
		text, ahead = rest, true
	} else if rest, ok := strings.CutPrefix(text, "+"); ok {
		text, ahead = rest, true
	} else if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, ahead = rest, false
	}
	parts := daysAndWeeks.FindStringSubmatch(text)
	if parts == nil || text == "" || strings.HasPrefix(parts[3], "-") || strings.HasPrefix(parts[3], "+") {
		return 0, false
	}
	weeks, _ := strconv.Atoi(parts[1]) // empty is 0
	days, _ := strconv.Atoi(parts[2])
	d := time.Duration(weeks*7+days) * 24 * time.Hour
	if parts[3] != "" {
		rest, err := time.ParseDuration(parts[3])
		if err != nil {
			return 0, false
		}
		d += rest
	}
	const century = 100 * 366 * 24 * time.Hour
	if d > century {
		return 0, false
	}
	if !ahead {
		d = -d
	}
	return d, true
}

// timeFlag parses a flag's time, before now if it is a duration. An empty flag is the
// zero time.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := parseTime(text, time.Now(), false); ok {
		return t, nil
	}
	return time.Time{}, usagef("--%s must be a time such as %s, not %q", name, timeExamples, text)
}

// laterFlag parses a flag's time, after now if it is a duration; nil if the flag is
// empty.
func laterFlag(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil means no time
	}
	if t, ok := parseTime(text, time.Now(), true); ok {
		return &t, nil
	}
	return nil, usagef("--%s must be a time such as %s, not %q", name, timeExamples, text)
}

// acceptSince lets a command accept --since and --until for the flags of its time range.
func acceptSince(flags *pflag.FlagSet, from, to string) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch {
		case name == "since":
			name = from
		case name == "until" && to != "":
			name = to
		}
		return pflag.NormalizedName(name)
	})
}
