package instance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/migrations"
)

// Start starts a server for a runnable example; stop stops it.
func Start() (s *Server, stop func()) {
	o := &owner{}
	return New(o), func() {
		if err := o.end(); err != nil {
			panic(err)
		}
	}
}

// Main is backends.Main for a package with examples. Only tests can be skipped:
// it leaves the examples out if a backend is not installed.
func Main(m *testing.M) {
	o := &owner{}
	err := o.try(func() {
		backends.Redis(o)
		backends.Postgres(o, migrations.Up)
	})
	if errors.As(err, new(skip)) {
		fmt.Fprintln(os.Stderr, "!!! examples SKIPPED:", err)
		_ = flag.Set("test.skip", "^Example") // it is a flag of every test binary
	}
	_ = o.end() // the tests report what is wrong
	backends.Main(m)
}

// owner is the testing.TB of what belongs to no test. It panics where a test would
// end.
type owner struct {
	testing.TB
	cleanups []func()
	errs     []error
}

// skip is why a test would be skipped.
type skip string

func (s skip) Error() string { return string(s) }

// try calls f and returns why a test would have ended.
func (o *owner) try(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			ended, ok := p.(error)
			if !ok {
				panic(p)
			}
			err = ended
		}
	}()
	f()
	return nil
}

// end cleans up as after a test, and returns what would have failed it.
func (o *owner) end() error {
	for _, cleanup := range slices.Backward(o.cleanups) {
		if err := o.try(cleanup); err != nil {
			o.errs = append(o.errs, err)
		}
	}
	o.cleanups = nil
	return errors.Join(o.errs...)
}

func (o *owner) Helper()                           {}
func (o *owner) Failed() bool                      { return false }
func (o *owner) Name() string                      { return "instance" }
func (o *owner) Context() context.Context          { return context.Background() }
func (o *owner) Cleanup(f func())                  { o.cleanups = append(o.cleanups, f) }
func (o *owner) Fatal(args ...any)                 { panic(errors.New(fmt.Sprint(args...))) }
func (o *owner) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }
func (o *owner) Skipf(format string, args ...any)  { panic(skip(fmt.Sprintf(format, args...))) }

func (o *owner) Error(args ...any) { o.errs = append(o.errs, errors.New(fmt.Sprint(args...))) }

func (o *owner) Errorf(format string, args ...any) {
	o.errs = append(o.errs, fmt.Errorf(format, args...))
}
