package loadgen

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// faults are commands that break something in the middle of a load.
type faults struct {
	commands []string
	every    time.Duration
	done     int
	notes    []string
}

// maxFault bounds one command.
const maxFault = 30 * time.Second

func newFaults(commands []string, lasts time.Duration) *faults {
	return &faults{commands: commands, every: lasts / time.Duration(len(commands)+1)}
}

// run runs the commands at even distances, until ctx ends.
func (f *faults) run(ctx context.Context, say func(string, ...any)) {
	began := time.Now()
	for i, command := range f.commands {
		if !pause(ctx, time.Until(began.Add(time.Duration(i+1)*f.every))) {
			return
		}
		say("fault: %s", command)
		at := time.Since(began)
		limited, cancel := context.WithTimeout(ctx, maxFault)
		said, err := exec.CommandContext(limited, "sh", "-c", command).CombinedOutput()
		cancel()
		note := fmt.Sprintf("at %.0f s: %s", at.Seconds(), command)
		if err == nil {
			f.done++
		} else {
			note += fmt.Sprintf(": %v: %s", err, strings.TrimSpace(string(said)))
		}
		f.notes = append(f.notes, note)
	}
}

// end notes what was broken.
func (f *faults) end(e *record.Ending) {
	if len(f.commands) > 0 {
		e.Measured["faults.done"] = 100 * float64(f.done) / float64(len(f.commands))
		e.Notes = append(e.Notes, f.notes...)
	}
}
