// Package filewatch reloads files when they change.
//
// Promise: a file that cannot be read leaves the loaded content in use. Owner: the
// component that uses the content calls Run. On failure it logs and retries.
package filewatch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// interval bounds the delay until a change takes effect.
const interval = 2 * time.Second

// Sum identifies the contents of files.
type Sum [sha256.Size]byte

// ReadError is the error of a file that cannot be read.
type ReadError struct {
	Index int // of the path
	Err   error
}

func (e *ReadError) Error() string { return e.Err.Error() }

func (e *ReadError) Unwrap() error { return e.Err }

// Read reads files that belong together. The content of an empty path is nil. The error is a
// *ReadError.
func Read(paths ...string) (texts [][]byte, sum Sum, err error) {
	texts = make([][]byte, len(paths))
	h := sha256.New()
	for i, path := range paths {
		if path == "" {
			continue
		}
		if texts[i], err = os.ReadFile(path); err != nil {
			return nil, sum, &ReadError{i, err}
		}
		fmt.Fprintf(h, "%d %d\n", i, len(texts[i]))
		h.Write(texts[i])
	}
	return texts, Sum(h.Sum(nil)), nil
}

// Run calls load at an interval until ctx ends. load reports whether the files have
// changed; name identifies them in the log.
func Run(ctx context.Context, name string, load func() (changed bool, err error), log *slog.Logger) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := load()
		switch {
		case err != nil:
			log.Warn(name+" not reloaded; the previous content stays in use", "err", err)
		case changed:
			log.Info(name + " reloaded")
		}
	}
}
