// Package storetest opens stores for tests.
package storetest

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/store"
)

// New opens a store on its own database until the test ends, and returns a direct
// connection to that database.
func New(t testing.TB, edit ...func(*store.Options)) (*store.Store, *backends.Conn) {
	t.Helper()
	url := backends.Postgres(t, migrations.Up)
	return Open(t, url, edit...), backends.Connect(t, url)
}

// Open opens a store on the database at url until the test ends.
func Open(t testing.TB, url string, edit ...func(*store.Options)) *store.Store {
	t.Helper()
	o := store.Options{URL: url, MaxConns: 8, LockWait: 100 * time.Millisecond, Timeout: 5 * time.Second, Shards: 1}
	for _, e := range edit {
		e(&o)
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// CopyScores copies all scores to the standings of s, also those that a test has written
// by itself, and updates the standings until they are complete.
func CopyScores(t testing.TB, s *store.Store, conn *backends.Conn) {
	t.Helper()
	conn.Do(t, `select reset_standings()`)
	UpdateStandings(t, s)
}

// UpdateStandings updates the standings of s until all is in them that was committed before
// the call. Running transactions in any database of the cluster delay that.
func UpdateStandings(t testing.TB, s *store.Store) {
	t.Helper()
	began := time.Now()
	for deadline := began.Add(20 * time.Second); ; {
		_, more, err := s.Standings.Update(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		age, err := s.Standings.Age(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more && age < time.Since(began) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("standings are %s old after 20 s", age)
		}
	}
}
