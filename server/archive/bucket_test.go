package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/archive"
)

// bucket starts a store and returns a place in it, and where its files lie.
func bucket(t *testing.T) (s *backendtest.S3Server, place archive.Place, dir string) {
	t.Helper()
	s = backendtest.OwnS3(t, "ledger")
	place, err := archive.OpenPlace("s3://ledger/scores/old?region=us-east-1&endpoint=" + url.QueryEscape(s.Endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return s, place, filepath.Join(s.Dir, "ledger", "scores", "old")
}

func TestAnOldPartitionLeavesTheDatabaseForABucket(t *testing.T) {
	s, place, dir := bucket(t)
	r := newRig(t)
	r.place, r.dir = place, dir
	r.conn.Do(t, `create table copy as select * from `+r.leaf)

	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if done, err := r.archive(r, keep).Once(ctx); err == nil || len(done) != 0 {
		t.Fatalf("without the store: got %+v, %v", done, err)
	}
	if n := r.conn.Count(t, `select count(*) from `+r.leaf); n != oldRows {
		t.Fatalf("%d rows are left of %d, and the store is away", n, oldRows)
	}
	s.Start()
	done, err := r.archive(r, keep).Once(t.Context())
	if err != nil || len(done) != 1 || done[0].Rows != oldRows {
		t.Fatalf("got %+v, %v", done, err)
	}
	r.check(t, "copy")
}

// What the store has lost or changed since is found before the partition goes.
func TestADamagedArchiveInABucketIsMadeAgain(t *testing.T) {
	_, place, dir := bucket(t)
	r := newRig(t)
	r.place, r.dir = place, dir
	r.conn.Do(t, `create table copy as select * from `+r.leaf)
	if _, err := r.archive(&broken{Store: r.Store, at: 10}, keep).Once(t.Context()); !errors.Is(err, errLost) {
		t.Fatalf("got %v", err)
	}
	name := r.leaf + ".ndjson.zst"
	packed := read(t, place, name)
	packed[len(packed)/2] ^= 1
	if err := place.Write(t.Context(), name, func(w io.Writer) error { _, err := w.Write(packed); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.archive(r, keep).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check(t, "copy")
}

func TestAFileOfManyPartsIsWholeOrNotThere(t *testing.T) {
	_, place, _ := bucket(t)
	if _, err := place.Open(t.Context(), "file"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before it was written: got %v", err)
	}
	first := make([]byte, 70<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(first)
	if err := place.Write(t.Context(), "file", func(w io.Writer) error { _, err := w.Write(first); return err }); err != nil {
		t.Fatal(err)
	}
	// The one that a database's end of connection brings is not the file's end.
	for _, cause := range []error{io.ErrUnexpectedEOF, io.EOF, errLost} {
		err := place.Write(t.Context(), "file", func(w io.Writer) error {
			if _, err := w.Write(first[:40<<20]); err != nil {
				return err
			}
			return cause // bare, as pgx returns it
		})
		if !errors.Is(err, cause) {
			t.Errorf("a source that ends with %v: got %v", cause, err)
		}
	}
	if !bytes.Equal(read(t, place, "file"), first) {
		t.Error("the file is not what was written whole")
	}
}

func read(t *testing.T, place archive.Place, name string) []byte {
	t.Helper()
	f, err := place.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestABucketThatRefusesIsAnErrorAndNotANothing(t *testing.T) {
	_, place, _ := bucket(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	if _, err := place.Open(t.Context(), "file"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read with a wrong key: got %v", err)
	}
	if err := place.Write(t.Context(), "file", func(io.Writer) error { return nil }); err == nil {
		t.Error("written with a wrong key")
	}
}

func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, where := range []string{
		"s3://", "s3:///prefix", "s3://key:secret@bucket", "s3://bucket?endpoint=ftp://host", "s3://bucket?endpoint=host:9000",
		"s3://bucket?endpoint=http://key:secret@host", "s3://bucket?zone=eu", "s3://bucket#x", "s3://b%zz",
	} {
		_, err := archive.OpenPlace(where)
		if err == nil {
			t.Errorf("%s is taken for a place", where)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error says the secret: %v", where, err)
		}
	}
}
