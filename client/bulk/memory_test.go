package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/bulk"
)

// endless is a source of n lines in constant memory.
type endless struct {
	n    int
	rest []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.n == 0 {
			return 0, os.ErrClosed
		}
		e.n--
		e.rest = fmt.Appendf(nil, "{\"user_id\":\"u%d\",\"delta\":1}\n", e.n%1000)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

type accept struct{}

func (accept) Submit(_ context.Context, in client.Increment) (client.Receipt, error) {
	return client.Receipt{UserID: in.User, Status: "done"}, nil
}

func (accept) SubmitBatch(_ context.Context, ins []client.Increment) ([]client.Result, error) {
	results := make([]client.Result, len(ins))
	for i, in := range ins {
		results[i].Receipt = client.Receipt{UserID: in.User, Status: "done"}
	}
	return results, nil
}

// A line more in memory for each that is sent would take more than is allowed. With
// SCOREBOARD_PROOF=1 there are four times as many lines.
func TestMemoryIsConstant(t *testing.T) {
	lines := 100_000
	if os.Getenv("SCOREBOARD_PROOF") == "1" {
		lines = 400_000
	}
	run := func(n int) uint64 {
		var highest uint64
		job := bulk.Job{
			Source: &endless{n: n}, Results: filepath.Join(t.TempDir(), "results"), Workers: 16,
			Progress: func(bulk.Tally) {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			},
		}
		if tally, err := job.Run(t.Context(), accept{}); !errors.Is(err, os.ErrClosed) || tally.Done != n {
			t.Fatalf("got %+v, %v", tally, err)
		}
		return highest
	}
	few, many := run(1000), run(lines)
	if many > few+6<<20 { // lines in flight
		t.Errorf("1,000 lines took %d kB, %d took %d kB", few>>10, lines, many>>10)
	}
}
