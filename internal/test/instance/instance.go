package instance

import (
	"errors"
	"sync"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// running is a node with backends of its own, for one test.
type running struct {
	owner
	node  *Node
	redis *backends.RedisServer
	err   error
	ready chan struct{} // closed once it has started or failed
}

// instances hides the time that nodes take to start and to stop: one is started
// before a test needs it, and tests do not wait for the end of theirs.
var instances struct {
	atEnd sync.Once // registers endInstances

	sync.Mutex
	used   bool
	spare  *running // without settings of its own; nil before the second test
	ending sync.WaitGroup
	errs   []error // of ending instances
}

func startInstance(settings ...string) *running {
	i := &running{ready: make(chan struct{})}
	go func() {
		defer close(i.ready)
		i.err = i.try(func() {
			i.redis = backends.OwnRedis(i)
			i.node = StartNode(i, backends.Postgres(i, migrations.Up), i.redis.URL, settings...)
			i.node.CreateKey(i)
			// Not before, because PostgreSQL must end after the instances.
			instances.atEnd.Do(func() { backends.OnEnd(endInstances) })
		})
	}()
	return i
}

// newInstance returns a node that no other test uses, until the test ends.
func newInstance(t testing.TB, settings []string) *running {
	t.Helper()
	i := takeInstance(settings)
	<-i.ready
	t.Cleanup(i.release)
	if errors.As(i.err, new(skip)) {
		t.Skip(i.err)
	}
	if i.err != nil {
		t.Fatal(i.err)
	}
	return i
}

func takeInstance(settings []string) *running {
	if len(settings) > 0 {
		return startInstance(settings...)
	}
	instances.Lock()
	defer instances.Unlock()
	if !instances.used { // a package with one test needs no spare
		instances.used = true
		return startInstance()
	}
	i := instances.spare
	if i == nil {
		i = startInstance()
	}
	instances.spare = startInstance()
	return i
}

// release ends the instance. The end of the tests waits for it.
func (i *running) release() {
	instances.ending.Go(func() {
		<-i.ready
		if err := i.end(); err != nil {
			instances.Lock()
			defer instances.Unlock()
			instances.errs = append(instances.errs, err)
		}
	})
}

// endInstances ends the spare, and returns what went wrong in those that tests have
// released.
func endInstances() error {
	instances.Lock()
	spare := instances.spare
	instances.spare = nil
	instances.Unlock()
	if spare != nil {
		spare.release()
	}
	instances.ending.Wait()
	return errors.Join(instances.errs...)
}
