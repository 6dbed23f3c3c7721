package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// lockPatience bounds the wait for an earlier server on the same data: the
// death signal lets it shut down cleanly, which takes a moment.
const lockPatience = 10 * time.Second

// Options describe one child.
type Options struct {
	Name    string // for messages: "PostgreSQL"
	Path    string
	Args    []string
	Env     []string // the whole environment
	Dir     string   // working folder
	Log     string   // file for its output; the one before is kept as .old
	Lock    string   // held until its last process has ended; may be empty
	Signal  syscall.Signal
	Account Account
	Locked  func() error // called once the lock is ours, before the child starts
}

// Process is a running child.
type Process struct {
	name   string
	signal syscall.Signal
	cmd    *exec.Cmd
	lock   string
	log    string
	done   chan struct{}
	err    error // how it ended; read it after done
}

// Start starts the child. It waits for an earlier one that still holds
// o.Lock, ten seconds at most.
func Start(ctx context.Context, o Options) (*Process, error) {
	lock, err := waitIfAny(ctx, o.Lock)
	if err != nil {
		return nil, fmt.Errorf("wait for an earlier %s to end: %w", o.Name, err)
	}
	defer func() {
		if lock != nil {
			_ = lock.Close() // the child has its own copy by now
		}
	}()
	if o.Locked != nil {
		if err := o.Locked(); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(o.Log, o.Log+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("keep the last log of %s: %w", o.Name, err)
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", o.Name, err)
	}
	defer func() { _ = log.Close() }()

	// Not CommandContext: the child ends by Stop, which is gentler than a kill.
	cmd := exec.Command(o.Path, o.Args...) //nolint:noctx // see above
	cmd.Env, cmd.Stdout, cmd.Stderr = o.Env, log, log
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	o.Account.prepare(cmd, o.Dir)
	// An own process group: Ctrl-C on the terminal is for the parent, which
	// stops its children in order.
	ownGroup(cmd.SysProcAttr)
	setDeathSignal(cmd.SysProcAttr, o.Signal)

	p := &Process{name: o.Name, signal: o.Signal, cmd: cmd, lock: o.Lock, log: o.Log, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	if lock != nil {
		if err := Sign(lock, cmd.Process.Pid); err != nil {
			p.Kill()
			return nil, err
		}
	}
	return p, nil
}

// run holds its operating system thread for the whole life of the child: the
// death signal is sent when the thread that forked ends, not the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

// Done is closed when the child has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Succeeded says whether the child ended with status 0. Call it after Done.
func (p *Process) Succeeded() bool { return p.err == nil }

// Err says how the child ended, with the end of its log. Call it after Done.
func (p *Process) Err() error {
	state := "it ended"
	if p.err != nil {
		state = p.err.Error()
	}
	if tail := logTail(p.log); tail != "" {
		return fmt.Errorf("%s: %s: %s", p.name, state, tail)
	}
	return fmt.Errorf("%s: %s", p.name, state)
}

// Stop asks the child to shut down and waits until nothing of it runs. When
// ctx ends first the child is killed, and Stop says so.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(p.signal)
	select {
	case <-p.done:
		return p.awaitLock(ctx)
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: killed it: %w", p.name, ctx.Err())
	}
}

// Kill ends the child without a chance to tidy up, as a power cut would, and
// waits until nothing of it runs.
func (p *Process) Kill() {
	killGroup(p.cmd.Process.Pid)
	_ = p.cmd.Process.Kill()
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	_ = p.awaitLock(ctx)
}

// awaitLock returns when the child's own children have ended too.
func (p *Process) awaitLock(ctx context.Context) error {
	lock, err := waitIfAny(ctx, p.lock)
	if err != nil {
		return fmt.Errorf("wait for the rest of %s to end: %w", p.name, err)
	}
	if lock != nil {
		_ = lock.Close()
	}
	return nil
}

func waitIfAny(ctx context.Context, path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return WaitLock(ctx, path)
}

// logTail is the last line or two of a log, enough to see why a server died.
func logTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-600), io.SeekStart)
	}
	tail, _ := io.ReadAll(io.LimitReader(f, 600))
	return strings.TrimSpace(string(tail))
}
