package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// folder is a place on this machine.
type folder string

// Write writes a file beside its place, syncs it and puts it there, so that
// under its name it is always whole.
func (d folder) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the folder of archives: %w", err)
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

// sync makes the names in a folder durable.
func (d folder) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return fmt.Errorf("sync %s: %w", string(d), err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", string(d), err)
	}
	return nil
}

func (d folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}
