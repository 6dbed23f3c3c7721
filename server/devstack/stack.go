package devstack

import (
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

// Options say where the stack keeps its data and what it need not start.
type Options struct {
	Dir          string   // made when missing
	Ephemeral    bool     // data in a temporary folder instead of Dir, gone after Stop
	PostgresURL  string   // used instead of an own PostgreSQL
	RedisURL     string   // used instead of an own Redis
	KafkaBrokers []string // used instead of an own broker
	Log          *slog.Logger
}

// Part is one backend, for the banner.
type Part struct {
	Name    string // "PostgreSQL"
	Detail  string // "15, 127.0.0.1:40123"; never a password
	StandIn bool   // not the real thing
	Note    string // what a stand-in cannot do
}

// Stack is the running set of backends.
type Stack struct {
	PostgresURL  string // of the database scoreboard
	RedisURL     string
	KafkaBrokers []string
	Parts        []Part // PostgreSQL, Redis, Kafka

	died     chan error
	stopping chan struct{}
	watchers sync.WaitGroup
	stops    []func(context.Context) error
	release  []func() error // after everything has stopped, in reverse
}

// Start starts what is not given, all at once, and returns when every part
// answers. A folder that another stack uses is refused at once.
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

// Died reports a child that ended though nobody asked it to.
func (s *Stack) Died() <-chan error { return s.died }

// Stop stops everything and waits for it; children that have not ended with
// ctx are killed. Data made by Ephemeral is removed.
func (s *Stack) Stop(ctx context.Context) error {
	close(s.stopping)
	errs := make([]error, len(s.stops))
	var all sync.WaitGroup
	for i, stop := range s.stops {
		all.Go(func() { errs[i] = stop(ctx) })
	}
	all.Wait()
	s.watchers.Wait()
	for i := len(s.release) - 1; i >= 0; i-- {
		errs = append(errs, s.release[i]())
	}
	return errors.Join(errs...)
}

// claim makes the folder and takes its lock.
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
		return "", fmt.Errorf("resolve the data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := process.Lock(filepath.Join(dir, "stack.lock"))
	var held *process.LockedError
	if errors.As(err, &held) {
		return "", fmt.Errorf("the data folder %s is in use by another development stack (process %s): stop that one, or name another folder", dir, held.Owner)
	}
	if err != nil {
		return "", err
	}
	s.release = append(s.release, lock.Close)
	return dir, process.Sign(lock, os.Getpid())
}

func (s *Stack) startPostgres(ctx context.Context, o Options, dir string, onStop func(func(context.Context) error)) error {
	if o.PostgresURL != "" {
		s.PostgresURL, s.Parts[0] = o.PostgresURL, Part{Name: "PostgreSQL", Detail: "given"}
		return nil
	}
	p, err := StartPostgres(ctx, PostgresOptions{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	onStop(p.Stop)
	s.watch(p.Process)
	s.PostgresURL = p.URL(database)
	s.Parts[0] = Part{Name: "PostgreSQL", Detail: fmt.Sprintf("%d, 127.0.0.1:%d", p.Major, p.Port)}
	return p.EnsureDatabase(ctx, database)
}

func (s *Stack) startRedis(ctx context.Context, o Options, dir string, onStop func(func(context.Context) error)) error {
	if o.RedisURL != "" {
		s.RedisURL, s.Parts[1] = o.RedisURL, Part{Name: "Redis", Detail: "given"}
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
			Note: "sorts the whole board at every read: fine to about 10,000 users; keeps nothing over a restart",
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	onStop(r.Stop)
	s.watch(r.Process)
	s.RedisURL = r.URL()
	s.Parts[1] = Part{Name: "Redis", Detail: fmt.Sprintf("%s, 127.0.0.1:%d", r.Program, r.Port)}
	return nil
}

func (s *Stack) startKafka(o Options, dir string, onStop func(func(context.Context) error)) error {
	if len(o.KafkaBrokers) > 0 {
		s.KafkaBrokers, s.Parts[2] = o.KafkaBrokers, Part{Name: "Kafka", Detail: "given"}
		return nil
	}
	stop, brokers, err := FakeKafka(filepath.Join(dir, "kafka"))
	if err != nil {
		return err
	}
	onStop(func(context.Context) error { stop(); return nil })
	s.KafkaBrokers = brokers
	s.Parts[2] = Part{
		Name: "Kafka", Detail: "kfake in this process, " + strings.Join(brokers, ","), StandIn: true,
		Note: "one broker without replication, laxer than Apache Kafka: proves nothing about a real one",
	}
	return nil
}

// watch reports the end of a child, unless it is Stop's doing.
func (s *Stack) watch(p *process.Process) {
	s.watchers.Go(func() {
		select {
		case <-s.stopping:
		case <-p.Done():
			select {
			case <-s.stopping:
			default:
				s.died <- p.Err()
			}
		}
	})
}
