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

// lockTimeout bounds the wait for an earlier server on the same data, which shuts
// down cleanly after the death signal.
const lockTimeout = 10 * time.Second

// Options describe one child process.
type Options struct {
	Name    string // for messages: "PostgreSQL"
	Path    string
	Args    []string
	Env     []string // the complete environment
	Dir     string   // working directory
	Log     string   // file for its output; the previous one is kept as .old
	Lock    string   // file locked until its last process has ended; may be empty
	Signal  syscall.Signal
	Account Account
	Locked  func() error // called after taking the lock, before the child starts
}

// Process is a running child process.
type Process struct {
	name   string
	signal syscall.Signal
	cmd    *exec.Cmd
	lock   string
	log    string
	done   chan struct{}
	err    error // how it ended; valid after done
}

// Start starts the child. It waits up to ten seconds for an earlier one that still
// holds o.Lock.
func Start(ctx context.Context, o Options) (*Process, error) {
	lock, err := waitIfAny(ctx, o.Lock)
	if err != nil {
		return nil, fmt.Errorf("wait for an earlier %s to end: %w", o.Name, err)
	}
	defer func() {
		if lock != nil {
			_ = lock.Close() // the child has inherited it
		}
	}()
	if o.Locked != nil {
		if err := o.Locked(); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(o.Log, o.Log+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("rename the last log of %s: %w", o.Name, err)
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", o.Name, err)
	}
	defer func() { _ = log.Close() }()

	// Not CommandContext: Stop shuts the child down gracefully.
	cmd := exec.Command(o.Path, o.Args...) //nolint:noctx // see above
	cmd.Env, cmd.Stdout, cmd.Stderr = o.Env, log, log
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	o.Account.prepare(cmd, o.Dir)
	// In its own process group: Ctrl-C reaches only the parent, which stops its
	// children in order.
	ownGroup(cmd.SysProcAttr)
	setDeathSignal(cmd.SysProcAttr, o.Signal)

	p := &Process{name: o.Name, signal: o.Signal, cmd: cmd, lock: o.Lock, log: o.Log, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	if lock != nil {
		if err := WriteOwner(lock, cmd.Process.Pid); err != nil {
			p.Kill()
			return nil, err
		}
	}
	return p, nil
}

// run locks its operating system thread for the lifetime of the child: the death signal
// is sent when the forking thread ends, not the process.
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

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Succeeded reports whether the child ended with status 0. Call it after Done.
func (p *Process) Succeeded() bool { return p.err == nil }

// Err returns how the child ended, with the end of its log. Call it after Done.
func (p *Process) Err() error {
	state := "exited"
	if p.err != nil {
		state = p.err.Error()
	}
	if tail := logTail(p.log); tail != "" {
		return fmt.Errorf("%s: %s: %s", p.name, state, tail)
	}
	return fmt.Errorf("%s: %s", p.name, state)
}

// Stop signals the child to shut down and waits until all its processes have ended.
// If ctx ends first, it kills the child and returns an error.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(p.signal)
	select {
	case <-p.done:
		return p.awaitLock(ctx)
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: killed: %w", p.name, ctx.Err())
	}
}

// Kill ends the child without cleanup, like a power failure, and waits until all its
// processes have ended.
func (p *Process) Kill() {
	killGroup(p.cmd.Process.Pid)
	_ = p.cmd.Process.Kill()
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	_ = p.awaitLock(ctx)
}

// awaitLock waits until the child's own children have ended, too.
func (p *Process) awaitLock(ctx context.Context) error {
	lock, err := waitIfAny(ctx, p.lock)
	if err != nil {
		return fmt.Errorf("wait for the children of %s to end: %w", p.name, err)
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
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	return WaitLock(ctx, path)
}

// logTail returns the last lines of a log.
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
