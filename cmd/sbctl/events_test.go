package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/scoreboard/scoreboard/client/bulk"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

const events = "../../testdata/events"

func TestSeasonOfEvents(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	env := []string{
		"SBCTL_SERVER=" + s.URL, "SBCTL_TOKEN=" + instance.Token("game", "score:update"),
		"SBCTL_KEY_ID=" + instance.KeyID, "SBCTL_KEY_SECRET=" + instance.Secret,
	}
	for _, tc := range []struct {
		file string
		want bulk.Tally
	}{
		{"season.ndjson", bulk.Tally{Done: 9947, Replayed: 609, Rejected: 53, Lines: 10_000}},
		// The events of the season's first day: all are repeats.
		{"first-day.csv", bulk.Tally{Done: 199, Replayed: 199, Rejected: 1, Lines: 200}},
	} {
		var out bytes.Buffer
		results := filepath.Join(t.TempDir(), "results")
		args := []string{
			"score", "submit", "--file", filepath.Join(events, tc.file), "--results", results,
			"--output", "json",
		}
		code := run(t.Context(), args, nil, &out, io.Discard, env)
		var got bulk.Tally
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != exitCheckFailed || got != tc.want {
			t.Errorf("%s: got exit code %d, %+v, %v; want 3, %+v", tc.file, code, got, err, tc.want)
		}
	}
	generated := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "go", "run", "../../internal/test/season",
		generated).CombinedOutput(); err != nil {
		t.Fatalf("generate the season: %v\n%s", err, output)
	}
	for _, file := range []string{"season.ndjson", "first-day.csv"} {
		want, err := os.ReadFile(filepath.Join(generated, file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(events, file)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the generated file (%v)", file, err)
		}
	}
}
