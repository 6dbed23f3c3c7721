package loadgen

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// faults are shell commands that break parts of the server during a load.
type faults struct {
	commands  []string
	interval  time.Duration
	succeeded int
	notes     []string
}

// maxFault is the time-out of a command.
const maxFault = 30 * time.Second

func newFaults(commands []string, length time.Duration) *faults {
	return &faults{commands: commands, interval: length / time.Duration(len(commands)+1)}
}

// run runs the commands at even intervals, until ctx ends.
func (f *faults) run(ctx context.Context, say func(string, ...any)) {
	start := time.Now()
	for i, command := range f.commands {
		if !retry.Sleep(ctx, time.Until(start.Add(time.Duration(i+1)*f.interval))) {
			return
		}
		say("fault: %s", command)
		at := time.Since(start)
		limited, cancel := context.WithTimeout(ctx, maxFault)
		out, err := exec.CommandContext(limited, "sh", "-c", command).CombinedOutput()
		cancel()
		note := fmt.Sprintf("at %.0f s: %s", at.Seconds(), command)
		if err == nil {
			f.succeeded++
		} else {
			note += fmt.Sprintf(": %v: %s", err, strings.TrimSpace(string(out)))
		}
		f.notes = append(f.notes, note)
	}
}

// report adds the result to the ending of a run.
func (f *faults) report(e *record.Ending) {
	if len(f.commands) > 0 {
		e.Measured["faults.done"] = 100 * float64(f.succeeded) / float64(len(f.commands))
		e.Notes = append(e.Notes, f.notes...)
	}
}
