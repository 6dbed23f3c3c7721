package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// label marks what belongs to a run. One run at a time has containers on a machine.
const label = "scoreboard-torture"

// emptyImage has no file: a container mounts what it runs.
const emptyImage = "scoreboard-torture/empty"

// host is a container with a network of its own, on which the backends' proxies listen.
type host struct {
	name, network string
	ip, gateway   string
}

// docker runs the engine's client.
func docker(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}

// removeHosts removes the containers and networks of this run, or of one that was killed.
func removeHosts(ctx context.Context) error {
	for _, kind := range [][]string{{"ps", "-aq"}, {"network", "ls", "-q"}} {
		found, err := docker(ctx, append(kind, "--filter", "label="+label)...)
		if err != nil {
			return err
		}
		if found == "" {
			continue
		}
		remove := []string{"rm", "-f"}
		if kind[0] == "network" {
			remove = []string{"network", "rm"}
		}
		if _, err := docker(ctx, append(remove, strings.Fields(found)...)...); err != nil {
			return err
		}
	}
	return nil
}

// startHosts makes a network for each node and one for the edge.
func (c *Cluster) startHosts(ctx context.Context) error {
	if err := removeHosts(ctx); err != nil {
		return err
	}
	empty := exec.CommandContext(ctx, "docker", "import", "-", emptyImage)
	empty.Stdin = bytes.NewReader(make([]byte, 1024)) // the end of an archive
	if out, err := empty.CombinedOutput(); err != nil {
		return fmt.Errorf("make an empty image: %w: %s", err, out)
	}
	for i := range len(c.o.Roles) + 1 {
		h := &host{
			name: fmt.Sprintf("%s-%d", label, i), network: fmt.Sprintf("%s-%d", label, i),
			ip: fmt.Sprintf("172.31.%d.10", 200+i), gateway: fmt.Sprintf("172.31.%d.1", 200+i),
		}
		if _, err := docker(ctx, "network", "create", "--label", label, "--subnet", h.gateway+"/24",
			"--gateway", h.gateway, h.network); err != nil {
			return err
		}
		c.hosts = append(c.hosts, h)
	}
	return nil
}

// proxyHost is where the proxies of a node, and of brokers (0), listen.
func (c *Cluster) proxyHost(node int) string {
	if c.hosts == nil {
		return "127.0.0.1"
	}
	return c.hosts[node].gateway
}

// command runs a binary in the container until it ends.
func (h *host) command(binary, api, ops string, args, env []string) *exec.Cmd {
	run := []string{
		"run", "--rm", "--name", h.name, "--label", label, "--network", h.network, "--ip", h.ip,
		"--publish", api + ":8080", "--publish", ops + ":8081", "--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--user", "65532", "--volume", binary + ":/scoreboardd:ro",
	}
	for _, variable := range env {
		run = append(run, "--env", variable)
	}
	run = append(run, emptyImage, "/scoreboardd", "--addr", ":8080", "--ops-addr", ":8081")
	return exec.Command("docker", append(run, args...)...) //nolint:noctx // it ends by Kill or Stop
}

// tell sends a command of the engine to the container; it may have ended already.
func (h *host) tell(args ...string) {
	_, _ = docker(context.Background(), append(args, h.name)...)
}

// Partition cuts a node off from backends, clients and the edge: what is on its way is lost, and
// connections stay open until they time out. The returned function ends it.
func (n *Node) Partition(ctx context.Context) (heal func(context.Context) error, err error) {
	return n.host.leave(ctx, n.host)
}

// Edge is nginx, with which clients reach any node.
type Edge struct{ *Node }

// Partition cuts a node off from the edge only.
func (e *Edge) Partition(ctx context.Context, n *Node) (heal func(context.Context) error, err error) {
	return e.host.leave(ctx, n.host)
}

// leave disconnects the container from a host's network.
func (h *host) leave(ctx context.Context, of *host) (back func(context.Context) error, err error) {
	if _, err := docker(ctx, "network", "disconnect", "--force", of.network, h.name); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		var flags []string
		if h == of {
			flags = []string{"--ip", h.ip}
		}
		_, err := docker(ctx, append(append([]string{"network", "connect"}, flags...), of.network, h.name)...)
		if err != nil && strings.Contains(err.Error(), "already exists") {
			return nil // it was restarted, with its network
		}
		return err
	}, nil
}

// Impair delays what a node sends and loses a share of its packets, until end is called.
func (n *Node) Impair(ctx context.Context, i Impairment) (end func(), err error) {
	out, err := docker(ctx, "inspect", "--format", "{{.State.Pid}}", n.host.name)
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(out)
	if err != nil || pid == 0 {
		return nil, fmt.Errorf("find the process of %s: %q", n.host.name, out)
	}
	return impair(ctx, pid, i)
}

// upstreams are the servers of the shipped configuration of nginx.
var upstreams = regexp.MustCompile(`(?s)(upstream (\w+) \{\n)    server 127\.0\.0\.1:8080;`)

// startEdge runs nginx of this machine, with the shipped configuration, in a container that is
// connected with every node's network.
func (c *Cluster) startEdge(ctx context.Context) error {
	dir := filepath.Join(c.o.Dir, "edge")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of the edge: %w", err)
	}
	shipped, err := os.ReadFile("deploy/nginx/scoreboard.conf")
	if err != nil {
		return fmt.Errorf("read the configuration of the edge: %w", err)
	}
	conf := upstreams.ReplaceAllStringFunc(string(shipped), func(block string) string {
		m := upstreams.FindStringSubmatch(block)
		for _, n := range c.Nodes {
			if m[2] == "scoreboard" && n.Serves("api") || m[2] == "scoreboard_gateway" && n.Serves("gateway") {
				m[1] += "    server " + n.host.ip + ":8080;\n"
			}
		}
		return m[1]
	})
	// All clients of the test have one address.
	conf = regexp.MustCompile(`rate=\d+r/s`).ReplaceAllString(conf, "rate=100000r/s")
	for name, content := range map[string]string{
		"scoreboard.conf": conf,
		"nginx.conf": "user root;\npid /run/nginx.pid;\nevents { worker_connections 4096; }\n" +
			"http { access_log off; error_log /dev/stderr; include /etc/nginx/scoreboard.conf; }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("configure the edge: %w", err)
		}
	}
	port, err := process.FreePort(ctx)
	if err != nil {
		return err
	}
	h := c.hosts[len(c.Nodes)]
	c.Edge = &Edge{&Node{
		ID: len(c.Nodes), Roles: "api,read,gateway", cluster: c, host: h, api: fmt.Sprintf("127.0.0.1:%d", port),
	}}
	create := []string{
		"create", "--name", h.name, "--label", label, "--network", h.network, "--publish", c.Edge.api + ":80",
		"--volume", dir + ":/etc/nginx:ro", "--tmpfs", "/run", "--tmpfs", "/var",
	}
	for _, folder := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc/passwd", "/etc/group"} {
		create = append(create, "--volume", folder+":"+folder+":ro")
	}
	create = append(create, emptyImage, "/bin/sh", "-c",
		"mkdir -p /var/cache/nginx /var/lib/nginx /var/log/nginx && exec nginx -g 'daemon off;'")
	if _, err := docker(ctx, create...); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if _, err := docker(ctx, "network", "connect", n.host.network, h.name); err != nil {
			return err
		}
	}
	return c.Edge.Start(ctx)
}

// Kill ends nginx at once.
func (e *Edge) Kill() { e.host.tell("kill") }

// Start starts nginx and waits until it passes requests.
func (e *Edge) Start(ctx context.Context) error {
	if _, err := docker(ctx, "start", e.host.name); err != nil {
		return err
	}
	var last string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL()+"/v1/leaderboard/top", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			last = err.Error()
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode < http.StatusInternalServerError {
			return nil
		}
		last = resp.Status
	}
	return fmt.Errorf("the edge does not pass requests: %s", last)
}
