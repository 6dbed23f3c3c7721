package realtime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
)

// process is another process of this program, controlled over its stdin and stdout.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (o *Options) start(ctx context.Context, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, o.Self, append([]string{"realtime"}, args...)...)
	cmd.Stderr = o.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	return &process{cmd, in, bufio.NewReader(out)}, nil
}

func (p *process) readLine() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read from %s: %w", p.cmd.Args[2], err)
	}
	return strings.TrimSpace(s), nil
}

// command sends a command and returns the response.
func (p *process) command(command string) (string, error) {
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		return "", fmt.Errorf("send %s the command %q: %w", p.cmd.Args[2], command, err)
	}
	return p.readLine()
}

func (p *process) figures() (f figures, err error) {
	s, err := p.command("report")
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal([]byte(s), &f)
}

// stop closes the input of the process, and kills it if it does not end.
func (p *process) stop() {
	_ = p.in.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait() // its status does not affect the figures
}

// await polls the figures until they are ok.
func (p *process) await(ctx context.Context, within time.Duration, ok func(figures) bool) (figures, error) {
	end := time.Now().Add(within)
	for {
		f, err := p.figures()
		if err != nil || ok(f) {
			return f, err
		}
		if time.Now().After(end) {
			return f, fmt.Errorf("timed out after %s: %+v", within, f)
		}
		if !retry.Sleep(ctx, 50*time.Millisecond) {
			return f, ctx.Err()
		}
	}
}

// rss is the resident memory of a process, in bytes.
func rss(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("/proc has no VmRSS")
}

// cpu is the CPU time of a process.
func cpu(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(b, []byte(") "))
	f := strings.Fields(string(rest))
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f))
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}
