package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// ErrMissing is returned when a backend is neither installed nor downloadable.
var ErrMissing = errors.New("not installed")

// The release that is downloaded if none is installed, pinned so that all machines
// use the same.
const (
	fetchedPostgres      = embeddedpostgres.PostgresVersion("18.3.0")
	fetchedPostgresMajor = 18
	oldestPostgresMajor  = 14
	fetchTimeout         = 5 * time.Minute
)

// postgresBinaries is one installation.
type postgresBinaries struct {
	dir   string // contains initdb and postgres
	major int
}

var majorOf = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// findPostgres returns the installation for a cluster of the given major version,
// or the newest if it is 0.
func findPostgres(ctx context.Context, major int) (postgresBinaries, error) {
	found := installedPostgres(ctx)
	for _, b := range found {
		if b.major == major || (major == 0 && b.major >= oldestPostgresMajor) {
			return b, nil
		}
	}
	if major != 0 && major != fetchedPostgresMajor {
		return postgresBinaries{}, fmt.Errorf("PostgreSQL %d, which created this data: %w", major, ErrMissing)
	}
	dir, err := FetchPostgres(ctx)
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("PostgreSQL: %w, and the download failed: %w", ErrMissing, err)
	}
	return postgresBinaries{dir: dir, major: fetchedPostgresMajor}, nil
}

// installedPostgres lists the installed versions, newest first. Debian keeps the
// servers outside PATH, in a directory per major version.
func installedPostgres(ctx context.Context) []postgresBinaries {
	var found []postgresBinaries
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range dirs {
		major, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && isExecutable(filepath.Join(dir, "postgres")) && isExecutable(filepath.Join(dir, "initdb")) {
			found = append(found, postgresBinaries{dir: dir, major: major})
		}
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		match := majorOf.FindSubmatch(out)
		if err == nil && match != nil && isExecutable(filepath.Join(filepath.Dir(path), "initdb")) {
			major, _ := strconv.Atoi(string(match[1]))
			found = append(found, postgresBinaries{dir: filepath.Dir(path), major: major})
		}
	}
	slices.SortStableFunc(found, func(a, b postgresBinaries) int { return cmp.Compare(b.major, a.major) })
	return found
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// CacheDir returns the folder of downloads in the user's cache, which it creates.
func CacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	dir := filepath.Join(cache, "scoreboard")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	return dir, nil
}

// FetchPostgres returns the folder of the cached programs of PostgreSQL, and downloads them
// if there are none. A lock prevents two processes from downloading at once.
func FetchPostgres(ctx context.Context) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "postgres-"+string(fetchedPostgres))
	bin := filepath.Join(home, "bin")
	if isExecutable(filepath.Join(bin, "postgres")) {
		return bin, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	lock, err := process.WaitLock(ctx, home+".lock")
	if err != nil {
		return "", fmt.Errorf("wait for another process to finish the download: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if isExecutable(filepath.Join(bin, "postgres")) {
		return bin, nil
	}
	part, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return "", fmt.Errorf("create a download directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(part) }()
	fetched := make(chan error, 1)
	go func() { fetched <- unpackPostgres(part) }()
	select {
	case err := <-fetched:
		if err != nil {
			return "", err
		}
	case <-ctx.Done(): // the library takes no context; its download ends with the process
		return "", ctx.Err()
	}
	if err := os.Chmod(filepath.Join(part, "home"), 0o755); err != nil {
		return "", fmt.Errorf("change the mode of the downloaded folder: %w", err)
	}
	if err := os.Rename(filepath.Join(part, "home"), home); err != nil {
		return "", fmt.Errorf("move the downloaded folder: %w", err)
	}
	return bin, nil
}

// unpackPostgres uses the library only to download: its own runner clears its folder,
// does not run as root and outlives a killed parent. The library downloads, verifies
// and unpacks before it runs initdb. initdb rejects a superuser whose name begins with
// pg_, so no server is started.
func unpackPostgres(dir string) error {
	defer http.DefaultClient.CloseIdleConnections() // used by the library, and not needed afterwards
	home := filepath.Join(dir, "home")
	var output strings.Builder
	err := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(fetchedPostgres).
		Port(0).
		Username("pg_fetch_only").
		CachePath(dir).
		BinariesPath(home).
		RuntimePath(filepath.Join(dir, "runtime")).
		DataPath(filepath.Join(dir, "data")).
		Logger(&output)).Start()
	if isExecutable(filepath.Join(home, "bin", "postgres")) && isExecutable(filepath.Join(home, "bin", "initdb")) {
		return nil
	}
	if err == nil {
		err = errors.New("the archive contains no server")
	}
	return err
}
