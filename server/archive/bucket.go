package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// A file comes as a stream of unknown length, so it is sent in parts, and
	// one part is in memory. S3 takes 10,000 parts: 320 GB a partition.
	partBytes      = 32 << 20
	bucketTries    = 5
	bucketSilence  = time.Minute   // until the head of an answer
	bucketPatience = 6 * time.Hour // for one file
)

// bucket is a place in an S3-compatible store.
type bucket struct {
	client *minio.Client
	name   string
	prefix string
}

func newBucket(u *url.URL) (*bucket, error) {
	query := u.Query()
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if text := query.Get("endpoint"); text != "" {
		var err error
		endpoint, err = url.Parse(text)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.User != nil {
			return nil, errors.New("the endpoint of a bucket is an http or https URL without keys in it")
		}
	}
	region := query.Get("region")
	query.Del("endpoint")
	query.Del("region")
	for name := range query {
		return nil, fmt.Errorf("a bucket has the parameters endpoint and region, not %q", name)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = bucketSilence
	transport.DisableCompression = true // of what is compressed already
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: endpoint.Scheme == "https", Region: region, Transport: transport, MaxRetries: bucketTries,
	})
	if err != nil {
		return nil, fmt.Errorf("a bucket at %s: %w", endpoint.Host, err)
	}
	return &bucket{client: client, name: u.Host, prefix: path.Clean("/" + u.Path)[1:]}, nil
}

// Write sends a file in parts. The store shows it when all are there.
func (b *bucket) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	defer cancel()
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() {
		err := fill(to)
		if err != nil {
			// Not err itself: an unexpected EOF of the database would be taken
			// for the file's end.
			_ = to.CloseWithError(errUnfilled)
		} else {
			_ = to.Close()
		}
		filled <- err
	}()
	_, err := b.client.PutObject(ctx, b.name, path.Join(b.prefix, name), from, -1, minio.PutObjectOptions{
		PartSize: partBytes, NumThreads: 1, ContentType: "application/octet-stream",
	})
	_ = from.CloseWithError(err) // what still writes ends
	if err = errors.Join(<-filled, err); err != nil {
		return fmt.Errorf("write %s to the bucket %s: %w", name, b.name, err)
	}
	return nil
}

var errUnfilled = errors.New("the file could not be made")

// Open reads a file from its begin. The store's not found is fs.ErrNotExist.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	object, err := b.client.GetObject(ctx, b.name, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err == nil {
		_, err = object.Stat() // nothing has been asked for before
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("read %s from the bucket %s: %w", name, b.name, err)
	}
	return &reading{object, cancel}, nil
}

// reading ends its patience when it is closed.
type reading struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (r *reading) Close() error {
	defer r.cancel()
	return r.ReadCloser.Close()
}
