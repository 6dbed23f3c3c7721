package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
)

// Names come from players: a spreadsheet must show a cell that it would compute. Numbers stay
// numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`=HYPERLINK("https://evil.example")`: `'=HYPERLINK`, "+1": "'+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)",
		"Ada": "Ada", "a=b": "a=b",
	} {
		var b bytes.Buffer
		out := &output{process: &process{stdout: &b}, format: "csv"}
		if err := out.printStructured([]client.Entry{{UserID: "u", DisplayName: name, Score: -5}}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !strings.Contains(got, want) || want[0] != '\'' && strings.Contains(got, "'") || strings.Contains(got,
			"'-5") {
			t.Errorf("%s is printed as %q", name, got)
		}
	}
}
