package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// CopyAsStandby fills dir, which must be absent or empty, so that StartPostgres starts a
// hot standby of p there. It needs no pg_basebackup, which some distributions of PostgreSQL
// lack.
func (p *Postgres) CopyAsStandby(ctx context.Context, dir string) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("create the directory of a standby: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(p.password), 0o600); err != nil {
		return fmt.Errorf("write the password of a standby: %w", err)
	}
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to copy PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// The log is kept for as long as this session has the slot.
	const slot = `select pg_create_physical_replication_slot('copy_' || pg_backend_pid(), true, true)`
	if _, err := conn.Exec(ctx, slot); err != nil {
		return fmt.Errorf("keep the log of PostgreSQL: %w", err)
	}
	if _, err := conn.Exec(ctx, `select pg_backup_start('standby', true)`); err != nil {
		return fmt.Errorf("begin to copy PostgreSQL: %w", err)
	}
	if err := copyCluster(p.data, data, false); err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, `select labelfile from pg_backup_stop(false)`).Scan(&label); err != nil {
		return fmt.Errorf("end to copy PostgreSQL: %w", err)
	}
	if err := copyCluster(p.data, data, true); err != nil {
		return err
	}
	const appending = os.O_APPEND | os.O_CREATE | os.O_WRONLY
	settings, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), appending, 0o600)
	if err != nil {
		return fmt.Errorf("configure a standby: %w", err)
	}
	_, err = fmt.Fprintf(settings, "primary_conninfo = '%s'\n", strings.ReplaceAll(p.URL("postgres"), "'", "''"))
	for name, content := range map[string]string{"backup_label": label, "standby.signal": ""} {
		err = errors.Join(err, os.WriteFile(filepath.Join(data, name), []byte(content), 0o600))
	}
	if err := errors.Join(err, settings.Close()); err != nil {
		return fmt.Errorf("configure a standby: %w", err)
	}
	return chown(dir, p.account)
}

// transient are the folders of a cluster whose content a start makes, and which a copy must lack.
var transient = []string{
	"pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans",
}

// copyCluster copies the files of a running cluster: its log, or everything else. What is deleted
// meanwhile is left out, as the log says.
func copyCluster(from, to string, log bool) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		top, _, below := strings.Cut(filepath.ToSlash(name), "/")
		switch {
		case d.IsDir() && below && slices.Contains(transient, top):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case (top == "pg_wal") != log, below && slices.Contains(transient, top), strings.HasPrefix(name, "postmaster."),
			!d.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, name))
	})
	if err != nil {
		return fmt.Errorf("copy PostgreSQL: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
