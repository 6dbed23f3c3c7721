package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A report that was written as JSON is shown as before, and compares with itself.
func TestDecode(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.Text(&got); err != nil || got.String() != string(want) {
		t.Errorf("the text is %s, want %s: %v", &got, want, err)
	}
	again, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if r.Against(again, nil); r.Comparison.Verdict != Unchanged {
		t.Errorf("compared with itself: %s", r.Comparison.Summary())
	}
	for name, change := range map[string][2]string{
		"a field":      {`{`, `{"extra":1,`},
		"a verdict":    {`"verdict": "`, `"verdict": "x`},
		"a long name":  {`"profile": "`, `"profile": "` + strings.Repeat("x", maxName)},
		"a time":       {`"began": "20`, `"began": "00`},
		"a type":       {`"seconds": `, `"seconds": [`},
		"data after":   {"\n}\n", "\n}\n{}"},
		"negative":     {`"rate": `, `"rate": -`},
		"more success": {`"succeeded": `, `"succeeded": 9`},
	} {
		broken := strings.Replace(string(body), change[0], change[1], 1)
		if broken == string(body) {
			t.Errorf("%s: the report has no %s", name, change[0])
		}
		if _, err := Decode([]byte(broken)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := Decode([]byte("null")); err == nil {
		t.Error("null is accepted")
	}
}
