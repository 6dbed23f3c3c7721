package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

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

// A comparison ends while a user whom its result names is erased, or after that: the log of jobs
// does not keep the name.
func TestJobThatEndsAfterAnErasure(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	result := func(user string) []byte {
		return []byte(`{"type":"result","verified":{"differences":[{"board":"global","user_id":"` + user + `"}]}}`)
	}
	start := func() *scoreboard.Job {
		t.Helper()
		job := &scoreboard.Job{Kind: "verify", Target: "board:global", Node: "n1", Who: "olga"}
		if err := s.Jobs.Start(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return job
	}
	end := func(job *scoreboard.Job, user string) {
		t.Helper()
		if err := s.Jobs.End(t.Context(), job.ID, scoreboard.JobDone, result(user)); err != nil {
			t.Fatal(err)
		}
	}
	line := func(job *scoreboard.Job) string {
		t.Helper()
		kept, err := s.Jobs.Find(t.Context(), job.ID)
		if err != nil || kept.State != scoreboard.JobDone {
			t.Fatalf("got %+v, %v, want it done", kept, err)
		}
		return string(kept.Line)
	}
	conn.Do(t, `insert into users (user_id) values ('alice'), ('bob')`)
	before, after := start(), start()
	if end(before, "bob"); line(before) != string(result("bob")) {
		t.Errorf("before the erasure: %s, want the result", line(before))
	}
	conn.Do(t, `update users set status = 'erased' where user_id = 'alice'`)
	if end(after, "alice"); line(after) != "" {
		t.Errorf("after the erasure: %s, want nothing", line(after))
	}
	// An erasure that has deleted the lines so far, and has not ended.
	during := start()
	erasure, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = erasure.Rollback(context.Background()) }()
	for _, sql := range []string{
		`select from users where user_id = 'bob' for no key update`,
		`update users set status = 'erased' where user_id = 'bob'`,
		`delete from jobs where position('"user_id":"bob"' in line) > 0`,
	} {
		if _, err := erasure.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Jobs.End(context.Background(), during.ID, scoreboard.JobDone, result("bob")) }()
	select {
	case err := <-ended:
		t.Errorf("a job ended during an erasure: %v, want it to wait", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := erasure.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || strings.Contains(line(during), "bob") {
		t.Errorf("the job that waited: %v, %s; want no name", err, line(during))
	}
}

// The last run of a job is that of any process, and one from before the clock went back is none.
func TestLastRunOfAJob(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	if _, ran, err := s.Leases.SinceRun(t.Context(), "reconcile"); err != nil || ran {
		t.Fatalf("before the first run: got %t, %v", ran, err)
	}
	for _, took := range []time.Duration{2 * time.Hour, time.Hour} {
		if err := s.Leases.RecordRun(t.Context(), "reconcile", took); err != nil {
			t.Fatal(err)
		}
		ago, ran, err := s.Leases.SinceRun(t.Context(), "reconcile")
		if err != nil || !ran || ago < took || ago > took+time.Minute {
			t.Errorf("a run that began %s ago: got %s, %t, %v", took, ago, ran, err)
		}
	}
	conn.Do(t, `update job_runs set started_at = clock_timestamp() + interval '1 hour'`)
	if ago, ran, err := s.Leases.SinceRun(t.Context(), "reconcile"); err != nil || ran {
		t.Errorf("a run of the future: got %s, %t, %v, want none", ago, ran, err)
	}
}
