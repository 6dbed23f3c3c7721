package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Storage holds archive files.
type Storage interface {
	// Write creates or replaces a file with what fill writes. When it returns
	// nil, the file is complete and durable; until then, and after an error, the
	// name has its previous content or none.
	Write(ctx context.Context, name string, fill func(io.Writer) error) error
	// Open opens a file. The error is fs.ErrNotExist if it does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

const bucketScheme = "s3://"

// OpenStorage returns the storage for the setting ledger.archive: a directory, or
// s3://bucket/prefix with the parameters endpoint (an http or https URL; default
// Amazon S3) and region. It does not connect. Credentials come from the
// environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), from the AWS
// credentials file or from the machine's role.
func OpenStorage(location string) (Storage, error) {
	if !strings.HasPrefix(location, bucketScheme) {
		path, err := filepath.Abs(location)
		if err != nil {
			return nil, fmt.Errorf("archive directory: %w", err)
		}
		return directory(path), nil
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New(
			"invalid bucket URL: want s3://bucket/prefix?endpoint=URL&region=NAME without credentials",
		)
	}
	return newBucket(u)
}

// directory is a local directory.
type directory string

// Write writes and syncs a temporary file and renames it, so a file under its
// final name is always complete.
func (d directory) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("create the archive directory: %w", err)
	}
	path := filepath.Join(string(d), name)
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = fill(w)
	if err == nil {
		err = errors.Join(w.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return d.sync()
}

// sync makes renames in the directory durable.
func (d directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return fmt.Errorf("sync %s: %w", string(d), err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", string(d), err)
	}
	return nil
}

func (d directory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}
