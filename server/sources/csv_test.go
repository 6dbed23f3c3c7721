package sources_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

func TestCSV(t *testing.T) {
	t.Parallel()
	want := []scoreboard.ImportRecord{
		{User: "zoe", Score: 7}, {User: "ann", Score: -3}, {User: "b@c", Score: 1<<53 - 1},
	}
	for name, text := range map[string]string{
		"plain":        "user_id,score\nzoe,7\nann,-3\nb@c,9007199254740991\n",
		"no last line": "user_id,score\nzoe,7\nann,-3\nb@c,9007199254740991",
		"crlf":         "user_id,score\r\nzoe,7\r\nann,-3\r\nb@c,9007199254740991\r\n",
		"exported": "rank,user_id,score,reached_at\n1,zoe,7,2026-11-21T12:00:00Z\n2,ann,-3,2026-11-21T12:00:01Z\n" +
			"3,b@c,9007199254740991,2026-11-21T12:00:02Z\n",
		"other order": "score,user_id\n7,zoe\n-3,ann\n9007199254740991,b@c\n",
		"bom":         "\uFEFFuser_id,score\nzoe,7\nann,-3\nb@c,9007199254740991\n",
		"quotes":      "\"user_id\",\"score\"\n\"zoe\",\"7\"\n\nann,-3\nb@c,9007199254740991\n",
	} {
		if got, err := sources.CSV(strings.NewReader(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestCSVWithSubscores(t *testing.T) {
	t.Parallel()
	got, err := sources.CSV(strings.NewReader("user_id,score,subscore\nzoe,7,-2\nann,7,\nben,7,0\n"))
	want := []scoreboard.ImportRecord{
		{User: "zoe", Score: 7, Subscore: new(scoreboard.Score(-2))}, {User: "ann", Score: 7}, {User: "ben", Score: 7},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestInvalidCSV(t *testing.T) {
	t.Parallel()
	const header = "user_id,score\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "the file is empty"},
		"no header":    {"ann,5\n", `line 1: got the header "ann,5"`},
		"other header": {"name,points\nann,5\n", "line 1: got the header"},
		"no user":      {"score\n5\n", "line 1: got the header"},
		"no score":     {header + "ann\n", "line 2: wrong number of fields"},
		"three fields": {header + "ann,5\nbob,5,6\n", "line 3: wrong number of fields"},
		"open quote":   {header + "\"ann,5\n", "line 2"},
		"fraction":     {header + "ann,1.5\n", `line 2: "1.5": the score must be an integer`},
		"exponent":     {header + "ann,1e3\n", `line 2: "1e3": the score must be an integer`},
		"no number":    {header + "ann,\n", `line 2: "": the score must be an integer`},
		"above 2^53":   {header + "ann,5\nbob,9007199254740992\n", "line 3: user bob has the score 9007199254740992"},
		"above 2^63":   {header + "ann,99999999999999999999\n", "line 2: \"99999999999999999999\""},
		"empty user":   {header + ",5\n", `line 2: user "": user_id must be 1 to 64`},
		"over-long":    {header + strings.Repeat("x", 65) + ",5\n", "line 2: user"},
		"space":        {header + "ann, 5\n", `line 2: " 5"`},
		"user twice":   {header + "ann,5\nbob,6\nann,5\n", "line 4: user ann is on line 2, too"},
		"subscore":     {"user_id,score,subscore\nann,5,x\n", `line 2: "x": the subscore must be an integer`},
		"large": {
			"user_id,score,subscore\nann,5,9007199254740992\n", "line 2: user ann has the subscore 9007199254740992",
		},
		"invalid UTF-8": {header + "\xff,5\n", "line 2: user"},
	} {
		got, err := sources.CSV(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%s: got %v, %v, want %q", name, got, err, c.want)
		}
	}
}
