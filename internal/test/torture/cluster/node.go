package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// Node is one scoreboardd process, which may be killed, paused and started
// again on the same addresses.
type Node struct {
	ID    int
	Roles string

	cluster       *Cluster
	binary        string
	postgres      *Proxy
	redis         Proxies // to the servers, then to the sentinels
	api, ops, log string
	clock         clockFile
	host          *host // nil: this machine

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it is down
	end chan struct{}
}

func (c *Cluster) newNode(ctx context.Context, id int, roles string) (*Node, error) {
	n := &Node{ID: id, Roles: roles, cluster: c, log: filepath.Join(c.o.Dir, fmt.Sprintf("node-%d.log", id))}
	n.binary = c.o.Binary
	if slices.Contains(c.o.EarlierNodes, id) {
		n.binary = c.o.Earlier
	}
	var err error
	if n.clock, err = c.newClock(fmt.Sprintf("node-%d", id)); err != nil {
		return nil, err
	}
	if c.hosts != nil {
		n.host = c.hosts[id]
	}
	if n.postgres, err = listenOn(ctx, c.proxyHost(id), hostOf(c.postgres.URL("torture"))); err != nil {
		return nil, err
	}
	if n.redis, err = c.redis.proxiesOf(ctx, c.proxyHost(id)); err != nil {
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
func through(address string, p *Proxy) string {
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

// First is the first node with a role, which every layout has.
func (c *Cluster) First(role string) *Node {
	i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.Serves(role) })
	return c.Nodes[i]
}

// URL is the node's API.
func (n *Node) URL() string { return "http://" + n.api }

// OpsURL is the node's operations address.
func (n *Node) OpsURL() string { return "http://" + n.ops }

// PostgresNet is the node's proxy to PostgreSQL.
func (n *Node) PostgresNet() *Proxy { return n.postgres }

// RedisNet is the node's proxies to Redis.
func (n *Node) RedisNet() Proxies { return n.redis }

// redisNet is the node's proxy to a single Redis.
func (n *Node) redisNet() *Proxy { return n.redis[0] }

// SetClock moves the node's clock; 0 sets it right. Without Options.Clocks it does
// nothing.
func (n *Node) SetClock(offset time.Duration) error { return n.clock.set(offset) }

// Install has the node run another binary from its next start on.
func (n *Node) Install(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binary = binary
}

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
	var args []string
	if n.Roles != "" {
		args = append(args, "--roles", n.Roles)
	}
	env := []string{
		"SCOREBOARD_POSTGRES_URL=" + through(n.cluster.postgres.RuntimeURL(database), n.postgres),
		"SCOREBOARD_REDIS_URL=" + n.cluster.redis.nodeURL(n.redis),
		"SCOREBOARD_AUTH_JWT_SECRET=" + JWTSecret,
		"SCOREBOARD_AUTH_MASTER_KEY=" + backends.MasterKey,
		"SCOREBOARD_BOARDS_CLOSE_GRACE=2s", "SCOREBOARD_DRAIN_DELAY=0s",
		"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_TOP_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_RANK_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_ADDRESS_PER_MINUTE=0",
		"SCOREBOARD_LIMIT_TICKETS_PER_MINUTE=0",
		"SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=0",
		"SCOREBOARD_REALTIME_CONNECTIONS_PER_ADDRESS=0",
		"SCOREBOARD_REALTIME_JOINS_PER_SECOND=0",
		"SCOREBOARD_WEBHOOKS_NETWORKS=127.0.0.0/8",
	}
	if transport := n.cluster.o.Transport; transport != "" {
		env = append(env, "SCOREBOARD_TRANSPORT="+transport)
	} else {
		env = append(env, "SCOREBOARD_KAFKA_BROKERS="+strings.Join(n.cluster.kafkaAddrs(), ","))
	}
	env = append(env, n.cluster.o.Settings...)
	env = append(env, Variable+"="+n.clock.path)
	var cmd *exec.Cmd
	if n.host != nil {
		cmd = n.host.command(n.binary, n.api, n.ops, args, env)
	} else {
		args = append(args, "--addr", n.api, "--ops-addr", n.ops)
		cmd = exec.Command(n.binary, args...) //nolint:noctx // it ends by Kill or Stop
		cmd.Env = append(os.Environ(), env...)
	}
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
	n.send(syscall.SIGCONT)
	n.send(s)
	select {
	case <-n.end:
	case <-time.After(30 * time.Second):
		n.send(syscall.SIGKILL)
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
		n.send(s)
	}
}

// send sends a signal to the process, which runs or has ended by itself. The caller holds the lock.
func (n *Node) send(s syscall.Signal) {
	switch {
	case n.host == nil:
		_ = n.cmd.Process.Signal(s)
	case s == syscall.SIGSTOP:
		n.host.tell("pause")
	case s == syscall.SIGCONT:
		n.host.tell("unpause")
	default:
		n.host.tell("kill", "--signal", strconv.Itoa(int(s)))
	}
}

// Serving reports whether the node answers /readyz with 200.
func (n *Node) Serving(ctx context.Context) bool {
	_, ok := n.report(ctx)
	return ok
}

// ready reports whether the node is serving and reaches every backend.
func (n *Node) ready(ctx context.Context) bool {
	report, ok := n.report(ctx)
	for _, backend := range []string{"postgres", "redis", "kafka"} {
		if state, used := report[backend]; used && state != "ok" {
			return false
		}
	}
	return ok
}

// report is what /readyz says of the backends; false unless its status is 200.
func (n *Node) report(ctx context.Context) (report map[string]string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.ops+"/readyz", nil)
	if err != nil {
		return nil, false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, false
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&report) != nil {
		return nil, false
	}
	return report, true
}
