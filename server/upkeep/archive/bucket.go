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
	// A file is a stream of unknown length, so it is sent in parts, with one
	// part in memory. S3 accepts 10,000 parts: 320 GB per partition.
	partBytes       = 32 << 20
	bucketRetries   = 5
	responseTimeout = time.Minute // until the response header
	fileTimeout     = 6 * time.Hour
)

// bucket is a bucket of an S3-compatible store.
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
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" ||
			endpoint.User != nil {
			return nil, errors.New("invalid bucket endpoint: want an http or https URL without credentials")
		}
	}
	region := query.Get("region")
	query.Del("endpoint")
	query.Del("region")
	for name := range query {
		return nil, fmt.Errorf("unknown bucket parameter %q: want endpoint or region", name)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = responseTimeout
	transport.DisableCompression = true // files are already compressed
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: endpoint.Scheme == "https", Region: region, Transport: transport, MaxRetries: bucketRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the bucket at %s: %w", endpoint.Host, err)
	}
	return &bucket{client: client, name: u.Host, prefix: path.Clean("/" + u.Path)[1:]}, nil
}

// Write uploads a file in parts. It becomes visible when the upload completes.
func (b *bucket) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() {
		err := fill(to)
		if err != nil {
			// Not err itself: the client would take an unexpected EOF of the
			// database for the end of the file.
			_ = to.CloseWithError(errFill)
		} else {
			_ = to.Close()
		}
		filled <- err
	}()
	_, err := b.client.PutObject(ctx, b.name, path.Join(b.prefix, name), from, -1, minio.PutObjectOptions{
		PartSize: partBytes, NumThreads: 1, ContentType: "application/octet-stream",
	})
	_ = from.CloseWithError(err) // ends fill
	if err = errors.Join(<-filled, err); err != nil {
		return fmt.Errorf("write %s to the bucket %s: %w", name, b.name, err)
	}
	return nil
}

var errFill = errors.New("write the file's content")

// Open opens a file. The store's "not found" becomes fs.ErrNotExist.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	object, err := b.client.GetObject(ctx, b.name, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err == nil {
		_, err = object.Stat() // the first request
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("read %s from the bucket %s: %w", name, b.name, err)
	}
	return &cancelingReader{object, cancel}, nil
}

// cancelingReader releases its context when it is closed.
type cancelingReader struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (r *cancelingReader) Close() error {
	defer r.cancel()
	return r.ReadCloser.Close()
}
