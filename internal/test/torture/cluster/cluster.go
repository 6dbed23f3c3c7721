package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// JWTSecret signs the tokens of the test.
const JWTSecret = "a secret of the torture test, long enough for HS256"

// Options describe an installation.
type Options struct {
	Dir      string   // for data and logs, made when missing
	Binary   string   // of scoreboardd
	Earlier  string   // of an earlier version
	Roles    []string // one entry per node: its --roles, "" for all
	Settings []string // NAME=value, for every node
	Brokers  int      // of Kafka; more than two can lose one
	// Transport is streams or direct; empty: Kafka. Without Kafka, accepted increments go over streams.
	Transport string
	Redis     RedisKind
	Standby   bool // PostgreSQL has a synchronous standby
	Disks     bool // the first disk of PostgreSQL and of Kafka can be filled; requires root
	// EarlierNodes are the ids of the nodes that run Earlier.
	EarlierNodes []int
	// Clocks of nodes and of PostgreSQL can be set; requires libfaketime, and a
	// Binary built with clock.Overlay.
	Clocks bool
	// Containers has each node, and an edge in front of them, in a container with a network of its
	// own; requires root, a Docker engine, and a static Binary.
	Containers bool
}

// Cluster is a running installation.
type Cluster struct {
	Nodes []*Node
	Edge  *Edge // nil: none

	o     Options
	hosts []*host // of the nodes and the edge; nil: none
	*brokerSet
	mu       sync.Mutex // of all below
	postgres *devstack.Postgres
	standby  *devstack.Postgres // nil: none
	spare    string             // folder of the standby, or of the next one
	redis    *redisSet
	dirs     map[Backend]string
	clock    clockFile // of PostgreSQL
	mounts   []string
}

// Start starts the backends and all nodes, and waits until they are ready.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	dirs := make(map[Backend]string)
	c := &Cluster{
		o: o, brokerSet: &brokerSet{o: o, dirs: dirs}, dirs: dirs, redis: &redisSet{kind: o.Redis, dir: o.Dir},
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if o.Containers {
		if err := c.startHosts(ctx); err != nil {
			return nil, err
		}
	}
	c.brokerSet.host = c.proxyHost(0)
	if err := c.startBackends(ctx); err != nil {
		return nil, err
	}
	if err := migrations.Up(ctx, c.PostgresURL()); err != nil {
		return nil, err
	}
	if _, err := migrations.Grant(ctx, c.PostgresURL(), c.postgres.RuntimeURL(database)); err != nil {
		return nil, err
	}
	for i, roles := range o.Roles {
		n, err := c.newNode(ctx, i, roles)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
		if err := n.Start(); err != nil {
			return nil, err
		}
	}
	if err := c.AwaitReady(ctx, time.Minute); err != nil || !o.Containers {
		return c, err
	}
	return c, c.startEdge(ctx)
}

func (c *Cluster) startBackends(ctx context.Context) (err error) {
	for _, b := range []Backend{Postgres, Redis, Kafka} {
		c.dirs[b] = filepath.Join(c.o.Dir, string(b))
		if !c.o.Disks || b == Redis || b == Kafka && !c.Can(Broker) {
			continue
		}
		if err := c.mount(b); err != nil {
			return err
		}
	}
	if c.clock, err = c.newClock("postgres"); err != nil {
		return err
	}
	c.spare = filepath.Join(c.o.Dir, "postgres-standby")
	if c.postgres, err = devstack.StartPostgres(ctx, c.postgresOptions(c.dirs[Postgres], 0)); err != nil {
		return err
	}
	if err := c.postgres.EnsureDatabase(ctx, database); err != nil {
		return err
	}
	if c.o.Standby {
		if err := c.StartStandby(ctx); err != nil {
			return err
		}
	}
	if err := c.redis.start(ctx); err != nil {
		return err
	}
	if !c.Can(Broker) {
		return nil
	}
	return c.startKafka(ctx)
}

// AwaitReady waits until every running node answers /readyz with 200 and reaches every
// backend.
func (c *Cluster) AwaitReady(ctx context.Context, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for _, n := range c.Nodes {
		for !n.ready(ctx) {
			if time.Now().After(deadline) {
				return fmt.Errorf("node %d is not ready within %s; see %s", n.ID, timeout, n.log)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// Can says whether the installation has what a fault requires.
func (c *Cluster) Can(what Ability) bool {
	switch what {
	case Standby:
		return c.o.Standby
	case Disks:
		return c.o.Disks
	case Clocks:
		return c.o.Clocks
	case Brokers:
		return c.o.Brokers > 2
	case OneBroker:
		return c.o.Brokers < 2 && c.Can(Broker)
	case Broker:
		return c.o.Transport == ""
	case OneRedis:
		return c.o.Redis == SingleRedis
	case Zones:
		return c.o.Redis == Sentinels
	case Slots:
		return c.o.Redis == RedisCluster
	case Hosts:
		return c.o.Containers
	}
	return true
}

// Ability is what some faults require of an installation; empty: nothing.
type Ability string

// The abilities.
const (
	Standby Ability = "a standby"
	Disks   Ability = "disks that can be filled"
	Clocks  Ability = "clocks that can be set"
	Brokers Ability = "three brokers"
	Hosts   Ability = "nodes on several hosts"

	Broker    Ability = "a broker"
	OneBroker Ability = "a single broker"

	OneRedis Ability = "a single Redis"
	Zones    Ability = "a zone that can be separated"
	Slots    Ability = "slots that can be moved"
)

// Backend names one backend: PostgreSQL's primary, a server of Redis, or a broker.
type Backend string

// The backends. AnyRedis and AnyBroker return further ones.
const (
	Postgres Backend = "postgres"
	Redis    Backend = "redis" // the first server
	Kafka    Backend = "kafka" // the first broker
)

// process is the running process of a backend. The caller holds the lock.
func (c *Cluster) process(b Backend) *process.Process {
	if b == Postgres {
		return c.postgres.Process
	}
	if one := c.redis.find(b); one != nil {
		return one.Process
	}
	return c.brokerOf(b).Process
}

// KillBackend ends a backend as a power cut would.
func (c *Cluster) KillBackend(b Backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process(b).Kill()
}

// StartBackend starts a backend that has ended, on its data and port. It does nothing
// for one that runs.
func (c *Cluster) StartBackend(ctx context.Context, b Backend) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running(c.process(b)) {
		return nil
	}
	if one := c.redis.find(b); one != nil {
		return one.start(ctx)
	}
	if b != Postgres {
		return c.brokerOf(b).start(ctx)
	}
	p, err := devstack.StartPostgres(ctx, c.postgresOptions(c.dirs[b], c.postgres.Port))
	if err == nil {
		c.postgres = p
	}
	return err
}

// Pause stops a backend's processes where they are; Resume continues them.
func (c *Cluster) Pause(b Backend) { c.signal(b, syscall.SIGSTOP) }

// Resume continues the processes of a paused backend.
func (c *Cluster) Resume(b Backend) { c.signal(b, syscall.SIGCONT) }

func (c *Cluster) signal(b Backend, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.process(b).PID(), s) // its process group
}

// Dir is the data folder of a backend.
func (c *Cluster) Dir(b Backend) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dirs[b]
}

// retarget points one proxy of each node at another server and cuts what is open.
func retarget(nodes []*Node, proxy func(*Node) *Proxy, address string) {
	for _, n := range nodes {
		proxy(n).SetTarget(address)
		proxy(n).Reset()
	}
}

// Close ends everything that was started.
func (c *Cluster) Close() {
	for _, n := range c.Nodes {
		n.Kill()
		n.postgres.Close()
		n.redis.Close()
	}
	if c.hosts != nil {
		_ = removeHosts(context.Background()) // the next run does it otherwise
	}
	for _, b := range c.brokers {
		if b.KafkaBroker != nil {
			b.Kill()
		}
		b.net.Close()
	}
	c.redis.close()
	if c.standby != nil {
		c.standby.Kill()
	}
	if c.postgres != nil {
		c.postgres.Kill()
	}
	for _, at := range c.mounts {
		_ = syscall.Unmount(at, syscall.MNT_DETACH)
	}
}

// diskSize is enough for a run of some minutes.
const diskSize = "1g"

// mount gives a backend a file system of its own.
func (c *Cluster) mount(b Backend) error {
	at := filepath.Join(c.o.Dir, "disk-"+string(b))
	if err := os.MkdirAll(at, 0o700); err != nil {
		return fmt.Errorf("create a mount point: %w", err)
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size="+diskSize); err != nil {
		return fmt.Errorf("mount a disk for %s: %w", b, err)
	}
	c.mounts = append(c.mounts, at)
	c.dirs[b] = filepath.Join(at, string(b))
	return nil
}

// removeInitFiles removes the files from which PostgreSQL's sessions know its catalogs, as it does itself when
// these change. The next session writes them, or ends.
func removeInitFiles(disk string) {
	_ = filepath.WalkDir(disk, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "pg_internal.init" {
			_ = os.Remove(path) //nolint:gosec,nolintlint // it may be gone already; nobody else writes there
		}
		return nil
	})
}

// FillDisk leaves no room on the disk of a backend; the returned function frees it and
// starts what has ended for lack of it.
func (c *Cluster) FillDisk(b Backend) (free func(context.Context) error, err error) {
	disk := filepath.Join(c.o.Dir, "disk-"+string(b))
	name := filepath.Join(disk, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("fill the disk of %s: %w", b, err)
	}
	chunk := make([]byte, 1<<20)
	for err == nil { // until no space is left
		_, err = f.Write(chunk)
	}
	if b == Postgres {
		removeInitFiles(disk) // only now: a session that starts before the disk is full would write them again
	}
	for _, size := range []int{1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(chunk[:size])
		}
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("fill the disk of %s: %w", b, err)
	}
	return func(ctx context.Context) error {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("free the disk of %s: %w", b, err)
		}
		time.Sleep(500 * time.Millisecond) // what ends for lack of room has ended
		return c.StartBackend(ctx, b)
	}, nil
}
