package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const database = "scoreboard"

// Options are where the stack keeps its data and which backends it does not start.
type Options struct {
	Dir          string   // created if missing
	Ephemeral    bool     // use a temporary directory instead of Dir, removed by Stop
	PostgresURL  string   // used instead of starting PostgreSQL, by the daemon
	OwnerURL     string   // of the owner of the same database; "": PostgresURL
	RedisURL     string   // used instead of starting Redis
	KafkaBrokers []string // used instead of starting a broker
	Log          *slog.Logger
}

// Part is one backend, for the banner.
type Part struct {
	Name    string // "PostgreSQL"
	Detail  string // "15, 127.0.0.1:40123"; never a password
	StandIn bool   // not the real backend
	Note    string // limits of the stand-in
}

// Stack is the running set of backends.
type Stack struct {
	PostgresURL  string // of the database scoreboard, for the daemon
	OwnerURL     string // the same, for its owner
	RedisURL     string
	KafkaBrokers []string
	Parts        []Part // PostgreSQL, Redis, Kafka

	died     chan error
	stopping chan struct{}
	stops    []func(context.Context) error
	release  []func() error // after everything has stopped, in reverse
}

// Start starts all backends without a given address in parallel and returns when
// they are ready. It fails at once if another stack uses the directory.
func Start(ctx context.Context, o Options) (*Stack, error) {
	s := &Stack{
		Parts:    make([]Part, 3),
		died:     make(chan error, 3),
		stopping: make(chan struct{}),
	}
	dir, err := s.claim(o)
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	var started sync.Mutex // guards stops
	onStop := func(stop func(context.Context) error) {
		started.Lock()
		defer started.Unlock()
		s.stops = append(s.stops, stop)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.startPostgres(groupCtx, o, dir, onStop) })
	group.Go(func() error { return s.startRedis(groupCtx, o, dir, onStop) })
	group.Go(func() error { return s.startKafka(o, dir, onStop) })
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	for _, p := range s.Parts {
		o.Log.Debug("backend ready", "name", p.Name, "detail", p.Detail, "stand_in", p.StandIn)
	}
	return s, nil
}

// Died reports a child that could not be started again.
func (s *Stack) Died() <-chan error { return s.died }

// Stop stops all backends and waits for them; children still running when ctx ends
// are killed. It removes the directory of Ephemeral.
func (s *Stack) Stop(ctx context.Context) error {
	close(s.stopping)
	errs := make([]error, len(s.stops))
	var all sync.WaitGroup
	for i, stop := range s.stops {
		all.Go(func() { errs[i] = stop(ctx) })
	}
	all.Wait()
	for i := len(s.release) - 1; i >= 0; i-- {
		errs = append(errs, s.release[i]())
	}
	return errors.Join(errs...)
}

// claim creates the directory and takes its lock.
func (s *Stack) claim(o Options) (string, error) {
	dir := o.Dir
	if o.Ephemeral {
		temp, remove, err := process.TempDir("scoreboard-dev-")
		if err != nil {
			return "", err
		}
		s.release = append(s.release, remove)
		dir = temp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the data directory: %w", err)
	}
	lock, err := process.Lock(filepath.Join(dir, "stack.lock"))
	var held *process.LockedError
	if errors.As(err, &held) {
		return "", fmt.Errorf(
			"data directory %s is in use by another development stack (process %s): stop it, or use another (--data)",
			dir, held.Owner,
		)
	}
	if err != nil {
		return "", err
	}
	s.release = append(s.release, lock.Close)
	return dir, process.WriteOwner(lock, os.Getpid())
}

func (s *Stack) startPostgres(
	ctx context.Context,
	o Options,
	dir string,
	onStop func(func(context.Context) error),
) error {
	if o.PostgresURL != "" {
		s.PostgresURL, s.OwnerURL = o.PostgresURL, cmp.Or(o.OwnerURL, o.PostgresURL)
		s.Parts[0] = Part{Name: "PostgreSQL", Detail: "external"}
		return nil
	}
	p, err := StartPostgres(ctx, PostgresOptions{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	again := PostgresOptions{Dir: filepath.Join(dir, "postgres"), Port: p.Port}
	start := func(ctx context.Context) (*process.Process, error) {
		p, err := StartPostgres(ctx, again)
		if err != nil {
			return nil, err
		}
		return p.Process, nil
	}
	s.keep(onStop, o.Log, &kept{name: "PostgreSQL", delay: RestartDelay, now: p.Process, start: start})
	s.PostgresURL, s.OwnerURL = p.RuntimeURL(database), p.URL(database)
	s.Parts[0] = Part{Name: "PostgreSQL", Detail: fmt.Sprintf("%d, 127.0.0.1:%d", p.Major, p.Port)}
	return p.EnsureDatabase(ctx, database)
}

func (s *Stack) startRedis(ctx context.Context, o Options, dir string, onStop func(func(context.Context) error)) error {
	if o.RedisURL != "" {
		s.RedisURL, s.Parts[1] = o.RedisURL, Part{Name: "Redis", Detail: "external"}
		return nil
	}
	r, err := StartRedis(ctx, RedisOptions{Dir: filepath.Join(dir, "redis")})
	if errors.Is(err, ErrMissing) {
		stop, url, err := miniRedis()
		if err != nil {
			return err
		}
		onStop(func(context.Context) error { stop(); return nil })
		s.RedisURL = url
		s.Parts[1] = Part{
			Name: "Redis", Detail: "miniredis, in this process", StandIn: true,
			Note: "sorts the whole board on every read: suitable up to about 10,000 users; data is lost on restart",
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	again := RedisOptions{Dir: filepath.Join(dir, "redis"), Port: r.Port}
	start := func(ctx context.Context) (*process.Process, error) {
		r, err := StartRedis(ctx, again)
		if err != nil {
			return nil, err
		}
		return r.Process, nil
	}
	s.keep(onStop, o.Log, &kept{name: "Redis", delay: RestartDelay, now: r.Process, start: start})
	s.RedisURL = r.URL()
	s.Parts[1] = Part{Name: "Redis", Detail: fmt.Sprintf("%s, 127.0.0.1:%d", r.Program, r.Port)}
	return nil
}

func (s *Stack) startKafka(o Options, dir string, onStop func(func(context.Context) error)) error {
	if len(o.KafkaBrokers) > 0 {
		s.KafkaBrokers, s.Parts[2] = o.KafkaBrokers, Part{Name: "Kafka", Detail: "external"}
		return nil
	}
	stop, brokers, err := FakeKafka(filepath.Join(dir, "kafka"))
	if err != nil {
		return err
	}
	onStop(func(context.Context) error { stop(); return nil })
	s.KafkaBrokers = brokers
	s.Parts[2] = Part{
		Name:    "Kafka",
		Detail:  "kfake in this process, " + strings.Join(brokers, ","),
		StandIn: true,
		Note: "one broker without replication, less strict than Apache Kafka: " +
			"not a substitute for tests with a real one",
	}
	return nil
}
