package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/asynclog"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/store"
)

// newRoot returns the command, which logs to logs.
func newRoot(logs *asynclog.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "scoreboardd",
		Short: "A real-time leaderboard that never loses a point and never counts one twice",
		Example: `  scoreboardd dev
  SCOREBOARD_POSTGRES_URL=… SCOREBOARD_REDIS_URL=… SCOREBOARD_KAFKA_BROKERS=… scoreboardd --roles api,relay`,
		Args: noCommand, SilenceUsage: true, SilenceErrors: true, Version: buildinfo.Read().Version,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, values, err := load(cmd.Flags(), os.LookupEnv)
			if err != nil {
				return err
			}
			if err := c.CheckSecrets(); err != nil {
				return err
			}
			log := newLog(logs, c.LogLevel)
			warnOfReadableSecrets(log, cmd.Flag("config").Value.String(), values)
			s, err := server.New(cmd.Context(), c, log)
			if err != nil {
				return err
			}
			defer s.Close()
			s.Register(logs.Collectors()...)
			api, ops, err := listen(cmd.Context(), c)
			if err != nil {
				return err
			}
			return s.Run(cmd.Context(), api, ops)
		},
	}
	root.SetErr(logs)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { warnOfMisspelt(cmd.ErrOrStderr(), os.Environ()) }
	flags := root.PersistentFlags()
	flags.String("config", "", "YAML file of settings")
	for _, v := range config.Defaults() {
		flags.String(config.FlagName(v.Name), v.Text, v.Meaning)
	}
	root.AddCommand(newDev(logs), newConfig(), newToken(), newReady())
	return root
}

func newConfig() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Print the settings in force and their sources, with secrets masked", Args: noCommand,
		Example: "  scoreboardd config\n  SCOREBOARD_INGEST_LANES=2 scoreboardd config",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, values, err := load(cmd.Flags(), os.LookupEnv)
			if err == nil && c.Postgres.URL != "" {
				values = inForce(cmd, c, values)
			}
			columns := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, v := range values {
				fmt.Fprintf(columns, "%s\t%s\t%s\n", v.Name, v.Text, v.Source)
			}
			return errors.Join(err, columns.Flush())
		},
	}
}

// storeTimeout bounds reading the settings that operators have changed.
const storeTimeout = 2 * time.Second

// inForce adds the changes of operators, if the store answers in time.
func inForce(cmd *cobra.Command, c *config.Config, deployed []config.Value) []config.Value {
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	now, err := effective(ctx, c)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "settings changed by operators are not shown:", err)
		return deployed
	}
	return now.Values()
}

// effective returns a deployed configuration with the changes in its store that are
// valid with it.
func effective(ctx context.Context, c *config.Config) (*config.Config, error) {
	files := tlsfiles.Files(c.Postgres.TLS)
	if _, err := tlsfiles.New("postgres.tls", files, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err // pgx would say that the URL is invalid
	}
	url := tlsfiles.PostgresURL(c.Postgres.URL, files)
	s, err := store.Open(ctx, store.Options{URL: url, MaxConns: 1, Describe: c.Postgres.Describe})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	stored, err := s.Settings.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	now, _ := c.WithValid(stored)
	return now, nil
}

// warnOfReadableSecrets reports a configuration file with secrets that other users of the
// machine can read.
func warnOfReadableSecrets(log *slog.Logger, path string, values []config.Value) {
	secrets := config.Secrets(values, config.FromFile)
	if path == "" || len(secrets) == 0 {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&0o077 != 0 {
		log.Warn("configuration file with secrets is accessible to other users; restrict it with chmod 600",
			"file", path, "mode", fmt.Sprintf("%#o", info.Mode().Perm()), "settings", secrets)
	}
}

// load reads the settings from the command line, env and the file of --config.
func load(flags *pflag.FlagSet, env config.Lookup) (*config.Config, []config.Value, error) {
	given := func(name string) (string, bool) {
		f := flags.Lookup(name)
		if f == nil || !f.Changed {
			return "", false
		}
		return f.Value.String(), true
	}
	path, _ := given("config")
	if path == "" {
		return config.Load(given, env, nil)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open the configuration file: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	return config.Load(given, env, file)
}

// newLog makes the log of the process. The Redis client has one for all of its clients.
func newLog(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // validated by package config
	log := slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l}))
	redis.SetLogger(redisLog{log})
	return log
}

func listen(ctx context.Context, c *config.Config) (api, ops net.Listener, err error) {
	var l net.ListenConfig
	if api, err = l.Listen(ctx, "tcp", c.Addr); err != nil {
		return nil, nil, fmt.Errorf("listen for the API (choose another address with --addr): %w", err)
	}
	if ops, err = l.Listen(ctx, "tcp", c.OpsAddr); err != nil {
		_ = api.Close() // it has served nothing
		return nil, nil, fmt.Errorf("listen for operations (choose another address with --ops-addr): %w", err)
	}
	return api, ops, nil
}
