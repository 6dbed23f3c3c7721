package edge

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

// maxSize bounds the file, which is loaded into memory; files of cities have 130 MB. It
// is not mapped, because overwriting a mapped file would crash the process.
const maxSize = 512 << 20

// CountryFile is a country database.
type CountryFile struct {
	path    string
	log     *slog.Logger
	seen    os.FileInfo
	current atomic.Pointer[maxminddb.Reader]
}

// OpenCountries reads a file of countries or cities; Run reloads it.
func OpenCountries(path string, log *slog.Logger) (*CountryFile, error) {
	f := &CountryFile{path: path, log: log}
	_, err := f.load()
	return f, err
}

// Run reloads the file when it has changed, until ctx ends.
func (f *CountryFile) Run(ctx context.Context) error {
	return filewatch.Run(ctx, "countries", f.load, f.log)
}

// load reads the file if it has changed. It returns the error of an invalid file on
// each call.
func (f *CountryFile) load() (changed bool, err error) {
	now, err := os.Stat(f.path)
	if err != nil {
		return false, fmt.Errorf("read the country file: %w", err)
	}
	if f.seen != nil && os.SameFile(f.seen, now) && now.Size() == f.seen.Size() &&
		now.ModTime().Equal(f.seen.ModTime()) {
		return false, nil
	}
	if now.Size() > maxSize {
		return false, fmt.Errorf("read the country file: %d bytes exceed the maximum of %d", now.Size(), maxSize)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return false, fmt.Errorf("read the country file: %w", err)
	}
	r, err := maxminddb.OpenBytes(text)
	if err != nil {
		return false, fmt.Errorf("read the country file: %w", err)
	}
	f.seen = now
	f.current.Store(r)
	return true, nil
}

// Country returns a country code of two letters, "" for an unknown address.
func (f *CountryFile) Country(address string) string {
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
