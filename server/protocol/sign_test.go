package protocol_test

import (
	"os"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The vectors are those of the README.
const secret = "sk_test_0123456789abcdef"

func TestFieldText(t *testing.T) {
	t.Parallel()
	base := protocol.IncrementRequest{
		UserID: "alice", Delta: 5,
		EventID:   "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b",
		Timestamp: "2026-11-21T12:00:00Z",
	}
	text := "alice|5|3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b|2026-11-21T12:00:00Z"
	cases := []struct {
		name      string
		edit      func(*protocol.IncrementRequest)
		text      string
		signature string
	}{
		{
			"plain",
			func(*protocol.IncrementRequest) {},
			text,
			"abb6822b2296237f66a93e641ca574fe2952e48616d73e396bf7b2d240ced2d9",
		},
		{
			"boards",
			func(r *protocol.IncrementRequest) { r.Boards = []string{"global", "daily"} },
			text + "|global,daily",
			"d46b9d85dc5c171e7e9b50136e2779a081ee0d18e9a3a85e16554b45e85941c3",
		},
		{"one board", func(r *protocol.IncrementRequest) { r.Board = "weekly" }, text + "|weekly", ""},
		{"action alone", func(r *protocol.IncrementRequest) { r.Action = "kill" }, text + "||kill", ""},
		{
			"board and action",
			func(r *protocol.IncrementRequest) { r.Board, r.Action = "weekly", "kill" },
			text + "|weekly|kill",
			"7ba7e8d35cff9494b6302b2dae450258ce84b23df6cb4944605bd1f2c2fad2d7",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := base
			c.edit(&r)
			if got := string(r.FieldText()); got != c.text {
				t.Errorf("text: got %q, want %q", got, c.text)
			}
			if got := protocol.Sign(secret, r.FieldText()); c.signature != "" && got != c.signature {
				t.Errorf("signature: got %s, want %s", got, c.signature)
			}
			inReadme(t, c.signature)
		})
	}
}

// inReadme checks that the README has a signature, for those who sign in other languages.
func inReadme(t *testing.T, signature string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), signature) {
		t.Errorf("the README lacks the signature %s", signature)
	}
}

func TestHeaderText(t *testing.T) {
	t.Parallel()
	text := protocol.HeaderText("POST", "/v1/scores/increments", "k1", "1795262400", []byte(`{"items":[]}`))
	got := protocol.Sign(secret, text)
	if want := "10b5a99488c6548ac5bead7e25afe3c81eb779e4aa09c614cb305fb8f8b047fd"; got != want {
		t.Errorf("signature of %q: got %s, want %s", text, got, want)
	}
	inReadme(t, got)
}
