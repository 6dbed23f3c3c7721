package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// doctor names a missing schema and the command that creates it.
func TestDoctorNamesTheMissingSchema(t *testing.T) {
	t.Parallel()
	n := instance.StartNode(t, backends.Postgres(t, nil), backends.Redis(t))
	environ := []string{
		"HOME=" + t.TempDir(), "SBCTL_SERVER=" + n.URL, "SBCTL_OPS_SERVER=" + n.Ops,
		"SBCTL_TOKEN=" + instance.Token("root", "score:admin"),
	}
	var out string
	eventually(t, "the node to wait for its schema", func() error {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"doctor"}, nil, &stdout, &stderr, environ)
		out = stdout.String()
		if code != exitCheckFailed || !strings.Contains(out, "no schema") {
			return exitCode(code)
		}
		return nil
	})
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "ready":
			if fields[1] != checkFail || !strings.HasSuffix(line, "the database has no schema") ||
				strings.TrimSpace(lines[i+1]) != `→ run "sbctl migrate up"` {
				t.Errorf("got %q and %q, want the reason and the command", line, lines[i+1])
			}
		case "token":
			if fields[1] != checkSkipped {
				t.Errorf("got %q, want a token that was not verified", line)
			}
		}
	}
}

// A database of a build before 1.0.0 is refused by doctor and by migrate, with what to do.
func TestEarlierDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	postgres := backends.Postgres(t, nil)
	db := backends.Connect(t, postgres)
	db.Do(t, `create table goose_db_version (version_id bigint not null, is_applied boolean not null)`)
	db.Do(t, `insert into goose_db_version select n, true from generate_series(0, 10) as n`)
	n := instance.StartNode(t, postgres, backends.Redis(t))
	environ := []string{
		"HOME=" + t.TempDir(), "SBCTL_SERVER=" + n.URL, "SBCTL_OPS_SERVER=" + n.Ops,
		"SCOREBOARD_POSTGRES_URL=" + postgres,
	}
	const problem = "the database is at migration 10 of a build before 1.0.0, which cannot be upgraded"
	const next = "use an empty database"
	eventually(t, "doctor to name the reason", func() error {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"doctor"}, nil, &stdout, &stderr, environ)
		if code != exitCheckFailed || !strings.Contains(stdout.String(), problem+"\n") ||
			!strings.Contains(stdout.String(), "→ "+next) {
			return exitCode(code)
		}
		return nil
	})
	for _, command := range []string{"up", "status"} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"migrate", command}, nil, &stdout, &stderr, environ)
		if code != exitError || !strings.Contains(stderr.String(), problem+": "+next) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stdout.String(), stderr.String())
		}
	}
	if got := db.Count(t, `select count(*) from pg_class where relnamespace = 'public'::regnamespace`); got != 1 {
		t.Errorf("%d tables and indexes, want the one of migrations", got)
	}
}
