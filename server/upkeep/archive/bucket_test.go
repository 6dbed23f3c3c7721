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

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

// bucket starts an S3 store and returns a storage in it and its directory.
func bucket(t *testing.T) (s *backends.S3Server, storage archive.Storage, dir string) {
	t.Helper()
	s = backends.OwnS3(t, "ledger")
	storage, err := archive.OpenStorage(
		"s3://ledger/scores/old?region=us-east-1&endpoint=" + url.QueryEscape(s.Endpoint),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s, storage, filepath.Join(s.Dir, "ledger", "scores", "old")
}

func TestArchiveOldPartitionToBucket(t *testing.T) {
	s, storage, dir := bucket(t)
	r := newRig(t)
	r.storage, r.dir = storage, dir
	r.conn.Do(t, `create table copy as select * from `+r.leaf)

	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if done, err := r.archive(r.Archive, keep).ArchiveOld(ctx); err == nil || len(done) != 0 {
		t.Fatalf("without the store: got %+v, %v", done, err)
	}
	if n := r.conn.Count(t, `select count(*) from `+r.leaf); n != oldRows {
		t.Fatalf("%d rows are left of %d while the store is down", n, oldRows)
	}
	s.Start()
	done, err := r.archive(r.Archive, keep).ArchiveOld(t.Context())
	if err != nil || len(done) != 1 || done[0].Rows != oldRows {
		t.Fatalf("got %+v, %v", done, err)
	}
	r.check(t, "copy")
}

// A file damaged in the bucket is found before the partition is dropped.
func TestDamagedArchiveInBucketIsRewritten(t *testing.T) {
	_, storage, dir := bucket(t)
	r := newRig(t)
	r.storage, r.dir = storage, dir
	r.conn.Do(t, `create table copy as select * from `+r.leaf)
	_, err := r.archive(&failing{Store: r.Archive, at: 10}, keep).ArchiveOld(t.Context())
	if !errors.Is(err, errLost) {
		t.Fatalf("got %v", err)
	}
	name := r.leaf + ".ndjson.zst"
	packed := read(t, storage, name)
	packed[len(packed)/2] ^= 1
	if err := storage.Write(
		t.Context(),
		name,
		func(w io.Writer) error { _, err := w.Write(packed); return err },
	); err != nil {
		t.Fatal(err)
	}
	if _, err := r.archive(r.Archive, keep).ArchiveOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check(t, "copy")
}

func TestMultipartFileIsCompleteOrAbsent(t *testing.T) {
	_, storage, _ := bucket(t)
	if _, err := storage.Open(t.Context(), "file"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before it was written: got %v", err)
	}
	first := make([]byte, 70<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(first)
	if err := storage.Write(
		t.Context(),
		"file",
		func(w io.Writer) error { _, err := w.Write(first); return err },
	); err != nil {
		t.Fatal(err)
	}
	// An EOF from the database connection is not the end of the file.
	for _, cause := range []error{io.ErrUnexpectedEOF, io.EOF, errLost} {
		err := storage.Write(t.Context(), "file", func(w io.Writer) error {
			if _, err := w.Write(first[:40<<20]); err != nil {
				return err
			}
			return cause // bare, as pgx returns it
		})
		if !errors.Is(err, cause) {
			t.Errorf("a source that ends with %v: got %v", cause, err)
		}
	}
	if !bytes.Equal(read(t, storage, "file"), first) {
		t.Error("the file is not what was written whole")
	}
}

func read(t *testing.T, storage archive.Storage, name string) []byte {
	t.Helper()
	f, err := storage.Open(t.Context(), name)
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

func TestBucketAccessDeniedIsNotMissing(t *testing.T) {
	_, storage, _ := bucket(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	if _, err := storage.Open(t.Context(), "file"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read with a wrong key: got %v", err)
	}
	if err := storage.Write(t.Context(), "file", func(io.Writer) error { return nil }); err == nil {
		t.Error("written with a wrong key")
	}
}

func TestOpenStorageRejectsInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"s3://", "s3:///prefix", "s3://key:secret@bucket",
		"s3://bucket?endpoint=ftp://host", "s3://bucket?endpoint=host:9000",
		"s3://bucket?endpoint=http://key:secret@host", "s3://bucket?zone=eu", "s3://bucket#x", "s3://b%zz",
	} {
		_, err := archive.OpenStorage(location)
		if err == nil {
			t.Errorf("%s: got no error", location)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error contains the secret: %v", location, err)
		}
	}
}
