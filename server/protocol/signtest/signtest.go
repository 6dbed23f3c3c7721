// Package signtest reads the test vectors of signatures, testdata/signing.json, which
// docs/signing.md publishes for programs in other languages.
package signtest

import (
	"encoding/json"
	"os"
	"testing"
)

// Vectors are signatures made with one secret of one key.
type Vectors struct {
	Secret  string   `json:"secret"`
	KeyID   string   `json:"key_id"`
	Fields  []Fields `json:"fields"`
	Headers []Header `json:"headers"`
}

// Fields is an increment that is signed by the field scheme.
type Fields struct {
	Name      string          `json:"name"`
	Increment json.RawMessage `json:"increment"` // the body, without key_id and signature
	Text      string          `json:"text"`
	Signature string          `json:"signature"`
}

// Header is a request that is signed by the header scheme.
type Header struct {
	Name      string `json:"name"`
	Method    string `json:"method"`
	Target    string `json:"target"`    // path and query as sent
	Timestamp string `json:"timestamp"` // Unix seconds, as in X-Scoreboard-Timestamp
	Body      string `json:"body"`
	Text      string `json:"text"`
	Signature string `json:"signature"` // the value of X-Scoreboard-Signature
}

// Read returns the vectors in a file.
func Read(t testing.TB, path string) *Vectors {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := &Vectors{}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(v.Fields) < 6 || len(v.Headers) < 4 {
		t.Fatalf("%s has %d and %d vectors", path, len(v.Fields), len(v.Headers))
	}
	return v
}
