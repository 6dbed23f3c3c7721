package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/migrations"
)

func newMigrateCmd(p *program) *cobra.Command {
	cmd := newNounCmd("migrate", "Migrate the database schema", `
  sbctl migrate up --postgres-url postgres://user@host/scoreboard
  sbctl migrate status`)
	cmd.Long = `Migrate the database schema.

No other command connects to the server's PostgreSQL. The database is --postgres-url,
else SCOREBOARD_POSTGRES_DIRECT_URL, else SCOREBOARD_POSTGRES_URL. It must not be a
PgBouncer: migrations hold a session lock against concurrent runs. The user of this URL
owns the schema. SCOREBOARD_POSTGRES_TLS_CA, _TLS_CERT and _TLS_KEY are PEM files for TLS,
as for the daemon.

If SCOREBOARD_POSTGRES_URL has another user, that is the daemon's: "migrate up" creates
the role, unless it exists, and gives it the rights that the daemon needs. It can then
neither change the schema nor rewrite the audit trail and the ledger.`
	var url string
	cmd.PersistentFlags().StringVar(&url, "postgres-url", "", "URL of the database")
	database := func() (string, error) {
		files := tlsfiles.Files{
			CA: p.env["SCOREBOARD_POSTGRES_TLS_CA"], Cert: p.env["SCOREBOARD_POSTGRES_TLS_CERT"],
			Key: p.env["SCOREBOARD_POSTGRES_TLS_KEY"],
		}
		if _, err := tlsfiles.New("postgres.tls", files, slog.New(slog.DiscardHandler)); err != nil {
			return "", err // pgx would say that the URL is invalid
		}
		for _, u := range []string{url, p.env["SCOREBOARD_POSTGRES_DIRECT_URL"], p.env["SCOREBOARD_POSTGRES_URL"]} {
			if u != "" {
				return tlsfiles.PostgresURL(u, files), nil
			}
		}
		return "", usagef("no database; pass --postgres-url or set SCOREBOARD_POSTGRES_DIRECT_URL")
	}
	cmd.AddCommand(newMigrateUpCmd(p.output, database), newMigrateStatusCmd(p.output, database))
	return cmd
}

func newMigrateUpCmd(out *output, database func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Apply pending migrations and grant the daemon its rights", Args: exactArgs(),
		Example: trimExamples(`
  sbctl migrate up --postgres-url postgres://user@host/scoreboard
  SCOREBOARD_POSTGRES_DIRECT_URL=postgres://… sbctl migrate up`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := database()
			if err != nil {
				return err
			}
			if err := migrations.Up(cmd.Context(), url); err != nil {
				return tlsfiles.Explain("postgres.tls", err)
			}
			role, err := migrations.Grant(cmd.Context(), url, out.env["SCOREBOARD_POSTGRES_URL"])
			if err != nil {
				return err
			}
			if role != "" {
				out.infof("role %s can use the schema, and does not own it", role)
			}
			return printMigrations(out, cmd, url)
		},
	}
}

func newMigrateStatusCmd(out *output, database func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List migrations and when each was applied", Args: exactArgs(),
		Example: trimExamples(`
  sbctl migrate status --postgres-url postgres://user@host/scoreboard
  sbctl migrate status --output json`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := database()
			if err != nil {
				return err
			}
			return printMigrations(out, cmd, url)
		},
	}
}

func printMigrations(out *output, cmd *cobra.Command, url string) error {
	versions, err := migrations.Status(cmd.Context(), url)
	if err != nil {
		return tlsfiles.Explain("postgres.tls", err)
	}
	return out.print(versions, func() *table {
		t := newTable(">NUMBER", "NAME", "APPLIED")
		for _, v := range versions {
			applied := "pending"
			if v.AppliedAt != nil {
				applied = v.AppliedAt.UTC().Format(time.RFC3339)
			}
			t.add(number(v.Number), v.Name, applied)
		}
		return t
	})
}
