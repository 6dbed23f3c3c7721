package migrations_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every file opens with its reason, and none can be undone.
func TestFilesAreMigrations(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "-- Why: ") {
			t.Errorf("%s does not open with its reason", name)
		}
		if strings.Contains(string(text), "+goose Down") {
			t.Errorf("%s has a part that undoes it", name)
		}
	}
}
