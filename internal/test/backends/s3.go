package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const (
	gatewayModule  = "github.com/versity/versitygw"
	gatewayVersion = "v1.8.0"
)

// S3Server is an S3-compatible store that only one test uses: VersityGW, which stores
// objects as files below Dir/bucket and verifies every signature.
type S3Server struct {
	*Server
	Endpoint string // http://host:port
	Dir      string
}

// OwnS3 starts an S3-compatible store with one empty bucket. It sets the credentials
// in the environment, so the test cannot be parallel.
func OwnS3(t *testing.T, bucket string) *S3Server {
	t.Helper()
	const key, secret = "test-access-key", "test-secret-key"
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	path, err := s3Gateway(t.Context())
	require(t, "an S3-compatible store", err)
	s := new(S3Server)
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.Endpoint = "http://" + address
	s.Server = newServer(t, "VersityGW", func(ctx context.Context, dir string) (*process.Process, error) {
		s.Dir = filepath.Join(dir, "data")
		meta := filepath.Join(dir, "meta") // not all file systems support extended attributes
		if err := errors.Join(os.MkdirAll(filepath.Join(s.Dir, bucket), 0o700), os.MkdirAll(meta, 0o700)); err != nil {
			return nil, err
		}
		p, err := process.Start(ctx, process.Options{
			Name: "VersityGW", Path: path, Dir: dir, Log: filepath.Join(dir, "s3.log"), Signal: syscall.SIGTERM,
			Args: []string{"--port", address, "--health", "/health", "--quiet", "posix", "--sidecar", meta, s.Dir},
			Env:  append(os.Environ(), "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+secret),
		})
		if err != nil {
			return nil, err
		}
		return p, p.AwaitReady(ctx, func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/health", nil)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("unexpected status %s of VersityGW", answer.Status)
			}
			return nil
		})
	})
	return s
}

// s3Gateway returns the program in the user's cache, and builds it if it is missing.
// A lock prevents concurrent builds.
func s3Gateway(ctx context.Context) (string, error) {
	cache, err := devstack.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "versitygw-"+gatewayVersion)
	path := filepath.Join(dir, "versitygw")
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	lock, err := process.WaitLock(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("wait for the build of another process: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	build := exec.CommandContext(ctx, "go", "install", "-trimpath", gatewayModule+"/cmd/versitygw@"+gatewayVersion)
	build.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build VersityGW: %w: %s: %w", err, out, ErrMissing)
	}
	return path, nil
}
