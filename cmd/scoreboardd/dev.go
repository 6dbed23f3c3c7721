package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/asynclog"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/devstack"
)

func newDev(logs *asynclog.Writer) *cobra.Command {
	var data, kill string
	var ephemeral bool
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a development stack: the daemon with PostgreSQL, Redis and Kafka", Args: noCommand,
		Long: `Run the daemon in every role with its own backends, for development.
PostgreSQL and Redis run as child processes. If PostgreSQL is not installed, it is
downloaded once. If Redis is not installed, a stand-in in this process takes its
place, as one always does for Kafka; the start-up message names the stand-ins. A
backend set by flag or environment is used instead. Data is kept in --data and
survives a restart. sbctl reads its address and credentials from sbctl.env in the
same folder. PostgreSQL or Redis is started again 5 s after it ended. To rehearse
such an outage, kill it with --kill in another terminal, and watch the board.`,
		Example: "  scoreboardd dev\n  scoreboardd dev --ephemeral --addr 127.0.0.1:9090\n" +
			"  scoreboardd dev --kill redis",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kill != "" {
				if err := devstack.Kill(data, kill); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "killed %s; the stack starts it again in %v\n",
					kill, devstack.RestartDelay)
				return err
			}
			return runDev(cmd, logs, data, ephemeral)
		},
	}
	cmd.Flags().StringVar(&data, "data", ".dev", "folder for data, secrets and sbctl.env")
	cmd.Flags().BoolVar(&ephemeral, "ephemeral", false,
		"keep no data; write only sbctl.env to the folder, and delete it at the end")
	cmd.Flags().StringVar(&kill, "kill", "",
		"kill postgres or redis of the stack that runs on --data, and start nothing")
	cmd.SetUsageFunc(devUsage)
	return cmd
}

// devUsage shows the flags of development.
func devUsage(cmd *cobra.Command) error {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.AddFlagSet(cmd.LocalNonPersistentFlags())
	addr, ops := *cmd.Flag("addr"), *cmd.Flag("ops-addr")
	addr.DefValue, _ = devEnv(nil, nil)(config.EnvName("addr"))
	own.AddFlag(&addr)
	own.AddFlag(&ops)
	return ownUsage(cmd, own)
}

// ownUsage shows some flags of a command. The settings are flags of every command,
// but over a hundred of them would hide these.
func ownUsage(cmd *cobra.Command, own *pflag.FlagSet) error {
	_, err := fmt.Fprintf(cmd.OutOrStderr(), `Usage:
  %s

Examples:
%s

Flags:
%s
Every setting of the daemon is a flag here too: see "scoreboardd --help".
`, cmd.UseLine(), cmd.Example, own.FlagUsages())
	return err
}

// stopTimeout is how long the backends may take to stop.
const stopTimeout = 15 * time.Second

func runDev(cmd *cobra.Command, logs *asynclog.Writer, data string, ephemeral bool) (err error) {
	started := time.Now()
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	given, _, err := load(cmd.Flags(), devEnv(nil, nil))
	if err != nil {
		return err
	}
	log := newLog(logs, given.LogLevel)
	if given.Postgres.URL == "" {
		if err := forgetLibpq(); err != nil {
			return err
		}
	}
	stack, err := devstack.Start(ctx, devstack.Options{
		Dir: data, Ephemeral: ephemeral, PostgresURL: given.Postgres.URL, OwnerURL: given.Postgres.DirectURL,
		RedisURL: given.Redis.URL, KafkaBrokers: given.Kafka.Brokers, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, stack.Stop(ctx))
	}()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	secrets, err := loadSecrets(filepath.Join(data, "secrets.json"), ephemeral)
	if err != nil {
		return err
	}
	c, _, err := load(cmd.Flags(), devEnv(stack, secrets))
	if err != nil {
		return err
	}
	if err := migrations.Up(ctx, stack.OwnerURL); err != nil {
		var earlier *migrations.EarlierBuildError
		if errors.As(err, &earlier) && given.Postgres.URL == "" {
			return fmt.Errorf("%s: delete the folder %s, or pass another as --data", earlier.Detail(), data)
		}
		return err
	}
	if _, err := migrations.Grant(ctx, stack.OwnerURL, stack.PostgresURL); err != nil {
		return err
	}
	api, ops, err := listen(ctx, c)
	if err != nil {
		return err
	}
	s, err := server.New(ctx, c, log)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Register(logs.Collectors()...)
	if err := secrets.register(ctx, s); err != nil {
		return err
	}
	envPath := filepath.Join(data, "sbctl.env")
	if err := secrets.writeEnv(envPath, c, api.Addr(), ops.Addr()); err != nil {
		return err
	}
	if ephemeral { // sbctl must not go on to use a server that is gone
		defer func() { err = errors.Join(err, os.Remove(envPath)) }()
	}
	go func() {
		select {
		case err := <-stack.Died():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	banner(cmd.ErrOrStderr(), stack, api.Addr(), ops.Addr(), envPath, time.Since(started))
	err = s.Run(ctx, api, ops)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

// forgetLibpq removes the developer's settings of libpq, such as PGSERVICE and PGOPTIONS, from the
// environment of this process: they are for another server than the one that it starts.
func forgetLibpq() error {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "PG") {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("ignore %s: %w", name, err)
			}
		}
	}
	return nil
}

// anyActions is a rule for all actions that limits none, so that the dialect module takes
// whichever its clients name. Boards have bounds of their own.
const anyActions = "*:-9007199254740991:9007199254740991"

// devEnv is the environment, with defaults for development below it.
func devEnv(stack *devstack.Stack, secrets *secrets) config.Lookup {
	defaults := map[string]string{
		"SCOREBOARD_ADDR": "127.0.0.1:8080", "SCOREBOARD_AUTH_DEV_ISSUER": "true",
		"SCOREBOARD_WEBHOOKS_NETWORKS": "127.0.0.0/8,::1/128", "SCOREBOARD_LOG_LEVEL": "warn",
		"SCOREBOARD_KAFKA_PARTITIONS": "4", "SCOREBOARD_AUTH_MAX_TOKEN_TTL": (devTokenTTL + time.Hour).String(),
		"SCOREBOARD_KAFKA_INCREMENTS_PARTITIONS": "4", "SCOREBOARD_AUTH_JWKS_NETWORKS": "127.0.0.0/8,::1/128",
		"SCOREBOARD_DIALECTS": strings.Join(config.DialectNames, ","), "SCOREBOARD_CONSOLE_DEV_SIGN_IN": "true",
		"SCOREBOARD_WEB_BOARDS": config.AllBoards, "SCOREBOARD_INGEST_ACTIONS": anyActions,
		"SCOREBOARD_DRAIN_DELAY": "0s", "SCOREBOARD_WEB_ORIGINS": "http://localhost:*,http://127.0.0.1:*",
	}
	if stack != nil {
		defaults["SCOREBOARD_POSTGRES_URL"] = stack.PostgresURL
		defaults["SCOREBOARD_REDIS_URL"] = stack.RedisURL
		defaults["SCOREBOARD_KAFKA_BROKERS"] = strings.Join(stack.KafkaBrokers, ",")
		defaults["SCOREBOARD_AUTH_JWT_SECRET"] = secrets.JWT
		defaults["SCOREBOARD_AUTH_MASTER_KEY"] = secrets.Master
		defaults["SCOREBOARD_AUTH_DEFAULT_KEY"] = secrets.KeyID
	}
	return func(name string) (string, bool) {
		if v, ok := os.LookupEnv(name); ok {
			return v, true
		}
		v, ok := defaults[name]
		return v, ok
	}
}

func banner(w io.Writer, stack *devstack.Stack, api, ops net.Addr, envPath string, took time.Duration) {
	fmt.Fprintf(w, "scoreboard development stack, ready in %s\n", took.Round(10*time.Millisecond))
	for _, p := range stack.Parts {
		kind := ""
		if p.StandIn {
			kind = "  (stand-in)"
		}
		fmt.Fprintf(w, "  %-11s %s%s\n", p.Name, p.Detail, kind)
		if p.Note != "" {
			fmt.Fprintf(w, "  %-11s %s\n", "", p.Note)
		}
	}
	fmt.Fprintf(w, "  %-11s http://%s\n  %-11s http://%s/metrics\n", "API", api, "operations", ops)
	fmt.Fprintf(w, "  %-11s http://%s/console\n", "console", ops)
	fmt.Fprintf(w, "  %-11s http://%s/b/global\n", "board page", api)
	fmt.Fprintf(w, "sbctl reads its settings from %s. In another terminal, try:\n", envPath)
	if envPath != defaultEnvPath {
		fmt.Fprintf(w, "  set -a; . %s; set +a\n", envPath)
	}
	sbctl := strings.TrimSuffix(os.Args[0], filepath.Base(os.Args[0])) + "sbctl" // in the same folder
	fmt.Fprintf(w, "  %[1]s score submit --user alice --delta 5\n  %[1]s watch\n", sbctl)
}

// defaultEnvPath is where sbctl looks for its settings if no variable is set.
var defaultEnvPath = filepath.Join(".dev", "sbctl.env")
