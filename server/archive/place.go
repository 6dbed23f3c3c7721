package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Place is where archives lie.
type Place interface {
	// Write makes a file of what fill writes, over one of that name. When it
	// returns nil the file is durable and whole; before, and after an error,
	// the name has what it had, or nothing.
	Write(ctx context.Context, name string, fill func(io.Writer) error) error
	// Open reads a file; an error that is fs.ErrNotExist where there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

const bucketScheme = "s3://"

// OpenPlace returns the place that the setting ledger.archive names: the path of
// a folder, or s3://bucket/prefix with the parameters endpoint (an http or
// https URL; Amazon's without one) and region. It does not look whether the
// place can be reached. The keys of a bucket come from the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), from AWS's file of credentials or
// from the machine's role.
func OpenPlace(where string) (Place, error) {
	if !strings.HasPrefix(where, bucketScheme) {
		path, err := filepath.Abs(where)
		if err != nil {
			return nil, fmt.Errorf("the folder of archives: %w", err)
		}
		return folder(path), nil
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("a bucket of archives is s3://bucket/prefix?endpoint=URL&region=NAME, without keys in it")
	}
	return newBucket(u)
}
