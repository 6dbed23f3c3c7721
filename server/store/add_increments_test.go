package store_test

import (
	"os"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
)

// The text that a reader finds beside its caller is that of the function in the database.
func TestTextOfAddIncrements(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("increments/add_increments.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, conn := storetest.New(t)
	const defined = `select count(*), coalesce(string_agg(pg_get_functiondef(oid), ''), '') from pg_proc
where proname = 'add_increments'`
	read := func() (n int, def string) {
		if err := conn.QueryRow(t.Context(), defined).Scan(&n, &def); err != nil {
			t.Fatal(err)
		}
		return n, def
	}
	n, migrated := read()
	conn.Do(t, string(text))
	again, described := read()
	if n != 1 || again != 1 { // other parameters make another function
		t.Fatalf("%d functions after the migrations and %d with the text, want 1 and 1", n, again)
	}
	if migrated != described {
		t.Errorf("increments/add_increments.sql is not the function of the migrations, which is\n%s", migrated)
	}
}
