package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// Transaction mode with few sessions for many clients: session state that a
// transaction leaves behind affects other clients.
const pgbouncerConf = `[databases]
%s = host=%s port=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
%s
`

// PgBouncer starts a PgBouncer in transaction mode and returns the URL of the
// database at target through it.
func PgBouncer(t testing.TB, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	path, err := findPgBouncer()
	require(t, "PgBouncer", err)
	account, err := process.Unprivileged(t.Context(), path, "--version")
	require(t, "PgBouncer", err)
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	conf := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Appendf(nil, pgbouncerConf, u.Path[1:], u.Hostname(), u.Port(), u.User.Username(), password, port,
		withoutPrepared(t, path))
	err = errors.Join(
		os.WriteFile(conf, text, 0o600), os.Chown(conf, account.UID, account.GID),
		os.Chown(dir, account.UID, account.GID),
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Options{
		Name: "PgBouncer", Path: path, Args: []string{"pgbouncer.ini"}, Env: os.Environ(), Dir: dir,
		Log: filepath.Join(dir, "pgbouncer.log"), Signal: syscall.SIGTERM, Account: account,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Errorf("stop PgBouncer: %v", err)
		}
	})
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	u.RawQuery = "sslmode=disable"
	err = p.AwaitReady(t.Context(), func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, u.String())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// withoutPrepared is the line that makes PgBouncer support no prepared statements, as versions
// before 1.21, which do not know it.
func withoutPrepared(t testing.TB, path string) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var minor int
	if _, err := fmt.Sscanf(string(version), "PgBouncer 1.%d", &minor); err != nil {
		t.Fatalf("the version of PgBouncer in %q: %v", version, err)
	}
	if minor < 21 {
		return ""
	}
	return "max_prepared_statements = 0"
}

func findPgBouncer() (string, error) {
	path, err := exec.LookPath("pgbouncer")
	if err == nil {
		return path, nil
	}
	const debian = "/usr/sbin/pgbouncer" // often not in PATH
	if _, err := os.Stat(debian); err == nil {
		return debian, nil
	}
	return "", fmt.Errorf("pgbouncer: %w", ErrMissing)
}
