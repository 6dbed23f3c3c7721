package store_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// A database that is read-only is unavailable to writes and is named. Once new connections
// can write, the store does, although its connections of before cannot.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	session := func(readOnly string) {
		name := conn.Config().Database
		conn.Do(t, `alter database "`+name+`" set default_transaction_read_only = `+readOnly)
	}
	record := func() error {
		_, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("alice", 5, "e1")})
		return err
	}
	session("on")
	var final *scoreboard.Error
	if err := record(); !errors.As(err, &final) || final.Code != wire.CodeUnavailable || final.RetryAfter <= 0 {
		t.Errorf("a write: got %v, want unavailable, to be repeated", err)
	}
	err := s.Ping(t.Context())
	var setup *scoreboard.SetupError
	if !errors.Is(err, store.ErrReadOnly) || !errors.As(err, &setup) || !strings.Contains(setup.Problem, "read-only") {
		t.Errorf("a ping: got %v, want that it is read-only", err)
	}
	session("off")
	if err := record(); err != nil { // one connection, at most, has seen neither
		t.Errorf("a write after new connections can write: %v", err)
	}
}

// Of several hosts in a URL, the store uses the one that accepts writes, without a word
// about it in the URL.
func TestStoreFindsThePrimary(t *testing.T) {
	t.Parallel()
	primary := backends.OwnPostgres(t, migrations.Up)
	standby := primary.Standby()
	hosts := backends.Hosts(standby.URL, primary.URL)
	if u, err := url.Parse(hosts); err != nil || u.Query().Has("target_session_attrs") {
		t.Fatalf("the URL %s says which host is meant: %v", hosts, err)
	}
	s := storetest.Open(t, hosts)
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("alice", 5, "e1")})
	if err != nil || got[0].Err != nil {
		t.Errorf("a write: got %+v, %v", got, err)
	}
	only := storetest.Open(t, standby.URL)
	if err := only.Ping(t.Context()); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a ping of the standby alone: got %v, want that it is read-only", err)
	}
}
