package migrations

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
)

// Baseline is the number of the first migration.
const Baseline = baseline

// UpNext applies the migrations and another one with a statement, as a later release would add it.
func UpNext(ctx context.Context, t *testing.T, url, statement string) error {
	t.Helper()
	later := fstest.MapFS{}
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		later[e.Name()] = &fstest.MapFile{Data: text}
	}
	name := fmt.Sprintf("%05d_next.sql", Latest()+1)
	later[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + statement + ";\n")}
	return up(ctx, url, later)
}
