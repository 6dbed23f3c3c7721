package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// dialFrom connects to a listener of this machine from the network namespace of a process.
func dialFrom(t *testing.T, pid int, address string, within time.Duration) (took time.Duration, err error) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	began := time.Now()
	err = exec.CommandContext(t.Context(), "nsenter", "--target", strconv.Itoa(pid), "--net", "timeout",
		fmt.Sprint(within.Seconds()), "bash", "-c", "exec 3<>/dev/tcp/"+host+"/"+port).Run()
	return time.Since(began), err
}

// A network with a delay has it, one that loses everything passes nothing, and both end.
func TestImpairedPackets(t *testing.T) {
	for _, tool := range []string{"unshare", "nsenter", "ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil || os.Geteuid() != 0 {
			t.Skipf("SKIPPED: impaired networks were NOT CHECKED: needs root and %s: %v", tool, err)
		}
	}
	other := exec.CommandContext(t.Context(), "unshare", "--net", "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	pid := strconv.Itoa(other.Process.Pid)
	const near, far = "172.31.199.1", "172.31.199.2"
	script := "until [ \"$(readlink /proc/" + pid + "/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do\n" +
		"sleep 0.05\ndone\n" +
		"ip link add torture-near type veth peer name torture-far netns " + pid + "\n" +
		"ip address add " + near + "/30 dev torture-near; ip link set torture-near up\n" +
		"nsenter --target " + pid + " --net ip address add " + far + "/30 dev torture-far\n" +
		"nsenter --target " + pid + " --net ip link set torture-far up\n"
	if out, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput(); err != nil {
		t.Fatalf("connect two networks: %v: %s", err, out)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", near+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	address := l.Addr().String()

	const delay = 600 * time.Millisecond
	for _, tt := range []struct {
		name     string
		i        *Impairment
		min, max time.Duration // of connecting
		fails    bool
	}{
		{name: "as it is", max: delay},
		{name: "delayed", i: &Impairment{Delay: delay}, min: delay, max: 10 * time.Second},
		{name: "lost", i: &Impairment{Loss: 1}, fails: true},
		{name: "as it was", max: delay},
	} {
		end := func() {}
		if tt.i != nil {
			if end, err = impair(context.Background(), other.Process.Pid, *tt.i); err != nil {
				t.Fatal(err)
			}
		}
		within := 10 * time.Second
		if tt.fails {
			within = 2 * time.Second
		}
		took, err := dialFrom(t, other.Process.Pid, address, within)
		if (err != nil) != tt.fails || !tt.fails && (took < tt.min || took > tt.max) {
			t.Errorf("%s: connecting took %v, %v; want %v to %v, a failure: %t",
				tt.name, took, err, tt.min, tt.max, tt.fails)
		}
		end()
	}
}
