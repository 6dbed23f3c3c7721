package store_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A job whose node was cut off is lost. If an operator stops it and the node comes back, the
// node stops: the operator may have started the job again.
func TestStoppedJobWasLostAndComesBack(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	job := &scoreboard.Job{Kind: "rebuild", Target: "board:global", Node: "n1", Who: "olga"}
	if err := s.Jobs.Start(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if stop, err := s.Jobs.Report(t.Context(), job.ID, []byte(`{"users":1}`)); err != nil || stop {
		t.Fatalf("a running job: got %t, %v, want it to go on", stop, err)
	}
	conn.Do(t, `update jobs set seen_at = clock_timestamp() - interval '1 minute'`)
	stopped, err := s.Jobs.Stop(t.Context(), job.ID, &scoreboard.AuditEntry{Actor: "olga", Action: "job.stop"})
	if err != nil || stopped.State != scoreboard.JobStopped {
		t.Fatalf("stopping a lost job: got %+v, %v", stopped, err)
	}
	stop, err := s.Jobs.Report(t.Context(), job.ID, []byte(`{"users":2}`))
	if err != nil || !stop {
		t.Errorf("the next report of the node: got %t, %v, want it to stop", stop, err)
	}
	kept, err := s.Jobs.Find(t.Context(), job.ID)
	if err != nil || kept.State != scoreboard.JobStopped || string(kept.Line) != `{"users":1}` {
		t.Errorf("after the report: got %+v, %v, want it stopped as it was", kept, err)
	}
}
