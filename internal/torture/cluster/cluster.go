// Package cluster runs an installation for the torture test: PostgreSQL, Redis
// and Apache Kafka as child processes, each behind fault proxies, and several
// scoreboardd processes in any split of roles.
//
// Each node has its own proxies to PostgreSQL and Redis, so that one node can
// lose a backend that the others reach. Kafka advertises one address, so its
// proxy is shared.
package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/internal/torture/netfault"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// JWTSecret signs the tokens of the test.
const JWTSecret = "a secret of the torture test, long enough for HS256"

const masterKey = "5fd1c1b0f8d54a0f6f2f4f0a8f3e1c9be8d70a64d2b35c1e97a860f14bd2c357"

// Options describe an installation.
type Options struct {
	Dir      string   // for data and logs, made when missing
	Binary   string   // of scoreboardd
	Roles    []string // one entry per node: its --roles, "" for all
	Settings []string // NAME=value, for every node
}

// Cluster is a running installation.
type Cluster struct {
	Nodes []*Node

	o        Options
	postgres *devstack.Postgres
	redis    *devstack.Redis
	kafka    *backendtest.KafkaBroker
	kafkaNet *netfault.Proxy
	mu       sync.Mutex // of the backends' processes
}

// Start starts the backends and all nodes, and waits until they are ready.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	c := &Cluster{o: o}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.startBackends(ctx); err != nil {
		return nil, err
	}
	if err := migrations.Up(ctx, c.postgres.URL("torture")); err != nil {
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
	return c, c.AwaitReady(ctx, time.Minute)
}

func (c *Cluster) startBackends(ctx context.Context) (err error) {
	c.postgres, err = devstack.StartPostgres(ctx, c.postgresOptions(0))
	if err != nil {
		return err
	}
	if err := c.postgres.EnsureDatabase(ctx, "torture"); err != nil {
		return err
	}
	if c.redis, err = devstack.StartRedis(
		ctx,
		devstack.RedisOptions{Dir: filepath.Join(c.o.Dir, "redis")},
	); err != nil {
		return err
	}
	if c.kafkaNet, err = netfault.Listen(ctx, ""); err != nil {
		return err
	}
	return c.startKafka(ctx, [2]int{})
}

func (c *Cluster) postgresOptions(port int) devstack.PostgresOptions {
	return devstack.PostgresOptions{Dir: filepath.Join(c.o.Dir, "postgres"), Port: port, Settings: map[string]string{
		"max_connections": "300", "idle_in_transaction_session_timeout": "30s",
	}}
}

func (c *Cluster) startKafka(ctx context.Context, ports [2]int) (err error) {
	c.kafka, err = backendtest.StartKafka(ctx, backendtest.KafkaOptions{
		Dir: filepath.Join(c.o.Dir, "kafka"), Ports: ports, Advertised: c.kafkaNet.Addr(),
	})
	if err == nil {
		c.kafkaNet.SetTarget(c.kafka.Brokers[0])
	}
	return err
}

// AwaitReady waits until every running node answers /readyz with 200.
func (c *Cluster) AwaitReady(ctx context.Context, atMost time.Duration) error {
	deadline := time.Now().Add(atMost)
	for _, n := range c.Nodes {
		for !n.ready(ctx) {
			if time.Now().After(deadline) {
				return fmt.Errorf("node %d is not ready within %s; see %s", n.ID, atMost, n.log)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// PostgresURL is the database's address, past all proxies.
func (c *Cluster) PostgresURL() string { return c.postgres.URL("torture") }

// RedisURL is the address of Redis, past all proxies.
func (c *Cluster) RedisURL() string { return c.redis.URL() }

// KafkaNet is the proxy before Kafka.
func (c *Cluster) KafkaNet() *netfault.Proxy { return c.kafkaNet }

// Backend names one of the three.
type Backend string

// The backends.
const (
	Postgres Backend = "postgres"
	Redis    Backend = "redis"
	Kafka    Backend = "kafka"
)

func (c *Cluster) process(b Backend) *process.Process {
	switch b {
	case Postgres:
		return c.postgres.Process
	case Redis:
		return c.redis.Process
	default:
		return c.kafka.Process
	}
}

// KillBackend ends a backend as a power cut would.
func (c *Cluster) KillBackend(b Backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process(b).Kill()
}

// StartBackend starts a backend that was ended, on its data and port.
func (c *Cluster) StartBackend(ctx context.Context, b Backend) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch b {
	case Postgres:
		p, err := devstack.StartPostgres(ctx, c.postgresOptions(c.postgres.Port))
		if err != nil {
			return err
		}
		c.postgres = p
	case Redis:
		r, err := devstack.StartRedis(
			ctx,
			devstack.RedisOptions{Dir: filepath.Join(c.o.Dir, "redis"), Port: c.redis.Port},
		)
		if err != nil {
			return err
		}
		c.redis = r
	case Kafka:
		return c.startKafka(ctx, c.kafka.Ports)
	}
	return nil
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
func (c *Cluster) Dir(b Backend) string { return filepath.Join(c.o.Dir, string(b)) }

// Close ends everything that was started.
func (c *Cluster) Close() {
	for _, n := range c.Nodes {
		n.Kill()
		n.postgres.Close()
		n.redis.Close()
	}
	if c.kafka != nil {
		c.kafka.Kill()
	}
	if c.kafkaNet != nil {
		c.kafkaNet.Close()
	}
	if c.redis != nil {
		c.redis.Kill()
	}
	if c.postgres != nil {
		c.postgres.Kill()
	}
}

// Node is one scoreboardd process, which may be killed, paused and started
// again on the same addresses.
type Node struct {
	ID    int
	Roles string

	cluster         *Cluster
	postgres, redis *netfault.Proxy
	api, ops, log   string

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it is down
	end chan struct{}
}

func (c *Cluster) newNode(ctx context.Context, id int, roles string) (*Node, error) {
	n := &Node{ID: id, Roles: roles, cluster: c, log: filepath.Join(c.o.Dir, fmt.Sprintf("node-%d.log", id))}
	var err error
	if n.postgres, err = netfault.Listen(ctx, hostOf(c.postgres.URL("torture"))); err != nil {
		return nil, err
	}
	if n.redis, err = netfault.Listen(ctx, hostOf(c.redis.URL())); err != nil {
		return nil, err
	}
	for _, addr := range []*string{&n.api, &n.ops} {
		port, err := process.FreePort(ctx)
		if err != nil {
			return nil, err
		}
		*addr = fmt.Sprintf("127.0.0.1:%d", port)
	}
	return n, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// through is an address with the host of a proxy.
func through(address string, p *netfault.Proxy) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = p.Addr()
	return u.String()
}

// Serves says whether the node has a role.
func (n *Node) Serves(role string) bool {
	return n.Roles == "" || strings.Contains(","+n.Roles+",", ","+role+",")
}

// URL is the node's API.
func (n *Node) URL() string { return "http://" + n.api }

// PostgresNet is the node's proxy to PostgreSQL.
func (n *Node) PostgresNet() *netfault.Proxy { return n.postgres }

// RedisNet is the node's proxy to Redis.
func (n *Node) RedisNet() *netfault.Proxy { return n.redis }

// Start starts the process; it does nothing where it runs.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		return nil
	}
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of node %d: %w", n.ID, err)
	}
	defer func() { _ = log.Close() }()
	args := []string{"--addr", n.api, "--ops-addr", n.ops}
	if n.Roles != "" {
		args = append(args, "--roles", n.Roles)
	}
	cmd := exec.Command(n.cluster.o.Binary, args...) //nolint:noctx // it ends by Kill or Stop
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(
		os.Environ(),
		"SCOREBOARD_POSTGRES_URL="+through(n.cluster.PostgresURL(), n.postgres),
		"SCOREBOARD_REDIS_URL="+through(n.cluster.RedisURL(), n.redis),
		"SCOREBOARD_KAFKA_BROKERS="+n.cluster.kafkaNet.Addr(),
		"SCOREBOARD_AUTH_JWT_SECRET="+JWTSecret,
		"SCOREBOARD_AUTH_MASTER_KEY="+masterKey,
		"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_TOP_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_RANK_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_ADDRESS_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_TICKETS_PER_MINUTE=0",
		"SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=0",
		"SCOREBOARD_REALTIME_CONNECTIONS_PER_ADDRESS=0",
		"SCOREBOARD_REALTIME_JOINS_PER_SECOND=0",
	)
	cmd.Env = append(cmd.Env, n.cluster.o.Settings...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start node %d: %w", n.ID, err)
	}
	n.cmd, n.end = cmd, make(chan struct{})
	go func(end chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(end)
	}(n.end)
	return nil
}

// Kill ends the process at once.
func (n *Node) Kill() { n.stop(syscall.SIGKILL) }

// Stop asks the process to shut down, and waits for it.
func (n *Node) Stop() { n.stop(syscall.SIGTERM) }

func (n *Node) stop(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGCONT)
	_ = n.cmd.Process.Signal(s)
	select {
	case <-n.end:
	case <-time.After(30 * time.Second):
		_ = n.cmd.Process.Kill()
		<-n.end
	}
	n.cmd = nil
}

// Exited says whether the process has ended by itself.
func (n *Node) Exited() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.end:
		n.cmd = nil
		return true
	default:
		return false
	}
}

// Pause stops the process where it is.
func (n *Node) Pause() { n.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (n *Node) Resume() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(s)
	}
}

func (n *Node) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.ops+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
