package main

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
)

// process is another process of this program, asked over its stdin and stdout.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
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

func (p *process) line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read from %s: %w", p.cmd.Args[1], err)
	}
	return strings.TrimSpace(s), nil
}

func (p *process) ask(command string) (string, error) {
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		return "", fmt.Errorf("tell %s %q: %w", p.cmd.Args[1], command, err)
	}
	return p.line()
}

func (p *process) figures() (f figures, err error) {
	s, err := p.ask("report")
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal([]byte(s), &f)
}

// stop lets the process end, and ends it when it does not.
func (p *process) stop() {
	_ = p.in.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait() // how it ended says nothing of the figures
}

// await asks until ok or the time is up.
func (p *process) await(ctx context.Context, within time.Duration, ok func(figures) bool) (figures, error) {
	end := time.Now().Add(within)
	for {
		f, err := p.figures()
		if err != nil || ok(f) {
			return f, err
		}
		if time.Now().After(end) {
			return f, fmt.Errorf("after %s: %+v", within, f)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return f, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// rss is the resident set of a process, in bytes.
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
	return 0, errors.New("no VmRSS")
}

// cpu is the processor time that a process has used.
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
