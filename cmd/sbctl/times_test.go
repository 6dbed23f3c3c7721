package main

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 10, 30, 0, 0, time.FixedZone("CET", 3600)) // 09:30 in UTC
	for text, want := range map[string]string{
		"2026-11-21T12:00:00+02:00": "2026-11-21T10:00:00Z",
		"2026-11-21":                "2026-11-21T00:00:00Z",
		"2026-11-21 18:05":          "2026-11-21T18:05:00Z",
		"2026-11-21T18:05:06":       "2026-11-21T18:05:06Z",
		"now":                       "2026-03-01T09:30:00Z",
		"today":                     "2026-03-01T00:00:00Z",
		"yesterday":                 "2026-02-28T00:00:00Z",
		"yesterday 18:00":           "2026-02-28T18:00:00Z",
		"Yesterday  18:00:01":       "2026-02-28T18:00:01Z",
		"tomorrow 06:00":            "2026-03-02T06:00:00Z",
		"18:00":                     "2026-03-01T18:00:00Z",
		"1h":                        "2026-03-01T08:30:00Z",
		"1h30m":                     "2026-03-01T08:00:00Z",
		"90m ago":                   "2026-03-01T08:00:00Z",
		"2d":                        "2026-02-27T09:30:00Z",
		"1w1d1h":                    "2026-02-21T08:30:00Z",
		"-1h":                       "2026-03-01T08:30:00Z",
		"+1h":                       "2026-03-01T10:30:00Z",
		"in 1d":                     "2026-03-02T09:30:00Z",
		"0s":                        "2026-03-01T09:30:00Z",
	} {
		got, ok := parseTime(text, now, false)
		if !ok || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, ok, want)
		}
	}
	if got, ok := parseTime("1h", now, true); !ok || !got.Equal(now.Add(time.Hour)) {
		t.Errorf("1h ahead: got %v, %v", got, ok)
	}
	for _, text := range []string{
		"", " ", "soon", "yesterday noon", "yesterday 25:00", "1", "1y", "--1h", "1h later", "now 18:00", "in", "ago",
		"2026-13-01", "99999w", "+", "1d-1h", "18:00 yesterday",
	} {
		if got, ok := parseTime(text, now, false); ok {
			t.Errorf("%q: got %v, want no time", text, got)
		}
	}
}
