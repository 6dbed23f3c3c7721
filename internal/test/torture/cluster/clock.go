package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clockFile says by how much a process's clock is wrong; without a path it cannot be.
type clockFile struct{ path string }

func (c *Cluster) newClock(name string) (clockFile, error) {
	if !c.o.Clocks {
		return clockFile{}, nil
	}
	f := clockFile{filepath.Join(c.o.Dir, "clock-"+name)}
	return f, f.set(0)
}

// set moves the clock; a process follows within about a second.
func (f clockFile) set(offset time.Duration) error {
	if f.path == "" {
		return nil
	}
	text := fmt.Sprintf("%+.3f\n", offset.Seconds())
	// Replaced as a whole: a reader never finds half of it.
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return nil
}

// env lets a C program follow the file.
func (f clockFile) env() []string {
	if f.path == "" {
		return nil
	}
	return Faketime(f.path)
}

// SetPostgresClock moves the clock of PostgreSQL; 0 sets it right.
func (c *Cluster) SetPostgresClock(offset time.Duration) error { return c.clock.set(offset) }
