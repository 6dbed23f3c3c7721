// Package geo says in which country an address is, from a file in the MaxMind
// format. The file is read once, when the daemon starts.
package geo

import (
	"fmt"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// File is such a file.
type File struct{ reader *maxminddb.Reader }

// Open opens a file of countries or of cities.
func Open(path string) (*File, error) {
	r, err := maxminddb.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the file of countries: %w", err)
	}
	return &File{r}, nil
}

// Country is two letters, "" where the address is not known.
func (f *File) Country(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	var code string
	if err := f.reader.Lookup(ip).DecodePath(&code, "country", "iso_code"); err != nil {
		return ""
	}
	return code
}
