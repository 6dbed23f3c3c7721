// Package geo says in which country an address is, from a file in the MaxMind
// format, which is read again when it changes.
//
// Promise: a file that cannot be read leaves the one before in force.
// Owner: package server runs File. On failure it logs and tries again.
package geo

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/scoreboard/scoreboard/internal/filewatch"
)

// maxSize bounds the file, which is held in memory: those of all cities are
// 130 MB. It is not mapped, for whoever writes over a mapped file ends the
// process.
const maxSize = 512 << 20

// File is such a file.
type File struct {
	path    string
	log     *slog.Logger
	seen    os.FileInfo
	current atomic.Pointer[maxminddb.Reader]
}

// Open reads a file of countries or of cities; Run goes on doing so.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log}
	_, err := f.load()
	return f, err
}

// Run reads the file when it has changed, until ctx ends.
func (f *File) Run(ctx context.Context) error {
	return filewatch.Run(ctx, "countries", f.load, f.log)
}

// load reads the file if it has changed. One that is bad is said to be so until
// it is another.
func (f *File) load() (changed bool, err error) {
	now, err := os.Stat(f.path)
	if err != nil {
		return false, fmt.Errorf("look at the file of countries: %w", err)
	}
	if f.seen != nil && os.SameFile(f.seen, now) && now.Size() == f.seen.Size() && now.ModTime().Equal(f.seen.ModTime()) {
		return false, nil
	}
	if now.Size() > maxSize {
		return false, fmt.Errorf("read the file of countries: %d bytes are more than %d", now.Size(), maxSize)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return false, fmt.Errorf("read the file of countries: %w", err)
	}
	r, err := maxminddb.OpenBytes(text)
	if err != nil {
		return false, fmt.Errorf("read the file of countries: %w", err)
	}
	f.seen = now
	f.current.Store(r)
	return true, nil
}

// Country is two letters, "" where the address is not known.
func (f *File) Country(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	var code string
	if err := f.current.Load().Lookup(ip).DecodePath(&code, "country", "iso_code"); err != nil {
		return ""
	}
	return code
}
