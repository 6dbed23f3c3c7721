package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// leases are the lease "audit" of a minute, which "me" can take while free.
type leases struct {
	mu       sync.Mutex // of free, fails and asked, while a lease is renewed beside work
	free     bool
	fails    error
	asked    int
	released []string
}

func (l *leases) TakeLease(_ context.Context, name, owner string, ttl time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return l.free && name == "audit" && owner == "me" && ttl == time.Minute, l.fails
}

func (l *leases) ReleaseLease(ctx context.Context, name, owner string) error {
	l.released = append(l.released, name+" of "+owner)
	return ctx.Err()
}

func (l *leases) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

func (l *leases) set(free bool, fails error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free, l.fails = free, fails
}

func newTestRunner(l Leases) *Runner { return NewRunner("me", l, slog.New(slog.DiscardHandler)) }

func auditJob(r *Runner, edit func(*JobOptions)) *Job {
	o := JobOptions{Name: "audit", TTL: time.Minute, Interval: time.Second, Failure: "not done"}
	if edit != nil {
		edit(&o)
	}
	return r.NewJob(o)
}

// start runs a job until stop is called, which returns how long that took.
func start(t *testing.T, j *Job, work func(context.Context) error) (stop func() (took time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- j.Run(ctx, work) }()
	return func() time.Duration {
		t.Helper()
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
}

// pass lets time pass, and waits until what is due is done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func valueOf(t *testing.T, c prometheus.Metric) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

// A job runs at once and at its interval, goes on after an error, and releases its lease
// when it stops, although its context has ended by then.
func TestJobRunsAtItsInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{free: true}
		r := newTestRunner(l)
		failures := prometheus.NewCounter(prometheus.CounterOpts{Name: "failures"})
		j := auditJob(r, func(o *JobOptions) { o.Failures = failures })
		began := time.Now()
		var runs []time.Duration
		stop := start(t, j, func(context.Context) error {
			runs = append(runs, time.Since(began))
			if len(runs) == 2 {
				return errors.New("once")
			}
			return nil
		})
		pass(1500 * time.Millisecond)
		if s := j.Status(); s.Error != "once" || s.Failed != 1 ||
			s.Started != began.Add(time.Second) || s.Succeeded != began {
			t.Errorf("status after the error: %+v", s)
		}
		pass(2 * time.Second)
		s := r.Status()
		if len(s) != 1 || s[0].Name != "audit" || !s[0].Holder || s[0].Running || s[0].Error != "" ||
			s[0].Failed != 0 || s[0].Succeeded != began.Add(3*time.Second) {
			t.Errorf("status at the end: %+v", s)
		}
		stop()
		if want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(runs, want) {
			t.Errorf("runs after %v, want %v", runs, want)
		}
		if !slices.Equal(l.released, []string{"audit of me"}) {
			t.Errorf("released %v", l.released)
		}
		for result, want := range map[string]float64{"ok": 3, "failed": 1, "lost": 0} {
			if n := valueOf(t, r.runs.WithLabelValues("audit", result)); n != want {
				t.Errorf("%v runs %s are counted, want %v", n, result, want)
			}
		}
		if n := valueOf(t, failures); n != 1 {
			t.Errorf("%v failures are counted, want 1", n)
		}
	})
}

// A process without the lease does nothing but the job's idle work, takes over within a
// second or so of the end of the lease, and runs what is due. It says so in its status.
func TestJobWaitsForTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		r := newTestRunner(l)
		idle, runs := 0, 0
		j := auditJob(r, func(o *JobOptions) {
			o.Interval = 200 * time.Millisecond
			o.Idle = func(context.Context) error { idle++; return nil }
		})
		stop := start(t, j, func(context.Context) error { runs++; return nil })
		pass(4500 * time.Millisecond)
		j.Trigger()
		synctest.Wait()
		if runs != 0 || idle != 6 || l.asked != 5 || j.Status().Holder {
			t.Errorf("without the lease: %d runs, %d times idle, asked %d times, %+v", runs, idle, l.asked, j.Status())
		}
		l.set(true, nil)
		pass(2 * time.Second)
		if runs < 5 || !j.Status().Holder || valueOf(t, r.holds.WithLabelValues("audit")) != 1 {
			t.Errorf("with the lease: %d runs, %+v", runs, j.Status())
		}
		l.set(false, errors.New("down"))
		pass(15 * time.Second) // it is renewed after a quarter of its TTL
		before := runs
		pass(5 * time.Second)
		if runs != before || j.Status().Error != "down" || j.Status().Holder {
			t.Errorf("without the database: %d more runs, %+v", runs-before, j.Status())
		}
		stop()
	})
}

// A trigger makes a job run at once. First and Retry set the times of the first run and of
// that after an error.
func TestJobRunsNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{free: true}
		j := auditJob(newTestRunner(l), func(o *JobOptions) {
			o.Interval, o.First, o.Retry = 24*time.Hour, time.Hour, 10*time.Minute
		})
		began := time.Now()
		var runs []time.Duration
		stop := start(t, j, func(context.Context) error {
			runs = append(runs, time.Since(began))
			if len(runs) == 1 {
				return errors.New("once")
			}
			return nil
		})
		pass(3 * time.Hour)
		j.Trigger()
		pass(30 * time.Hour)
		stop()
		want := []time.Duration{time.Hour, time.Hour + 10*time.Minute, 3 * time.Hour, 27 * time.Hour}
		if !slices.Equal(runs, want) {
			t.Errorf("runs after %v, want %v", runs, want)
		}
		if perHour := l.asked / 33; perHour < 200 || perHour > 300 {
			t.Errorf("the lease was renewed %d times an hour, want 240: also between runs", perHour)
		}
	})
}

// A job without a lease runs in every process.
func TestJobWithoutLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, runs := &leases{}, 0
		j := auditJob(newTestRunner(l), func(o *JobOptions) { o.TTL = 0 })
		stop := start(t, j, func(context.Context) error {
			if runs++; runs == 2 {
				return ErrLost // of a lease that the work holds
			}
			return nil
		})
		pass(3500 * time.Millisecond)
		stop()
		if runs != 4 || l.asked > 0 || len(l.released) > 0 || !j.Status().Holder || j.Status().Error != "" {
			t.Errorf("%d runs, asked %d times, released %v, %+v", runs, l.asked, l.released, j.Status())
		}
	})
}

// A job stops soon, even if its work does not: its lease is then left to expire.
func TestJobStopsWithinABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for what, hang := range map[string]time.Duration{"soon": time.Second, "late": time.Hour} {
			l := &leases{free: true}
			j := auditJob(newTestRunner(l), nil)
			stop := start(t, j, func(context.Context) error { time.Sleep(hang); return nil })
			pass(time.Millisecond)
			if !j.Status().Running {
				t.Errorf("%s: %+v, want it running", what, j.Status())
			}
			took := stop()
			if took > stopTimeout || (len(l.released) == 1) != (hang < stopTimeout) {
				t.Errorf("work that ends %s: stopped after %s, released %v", what, took, l.released)
			}
		}
		time.Sleep(time.Hour)
	})
}

// The lease is renewed beside long work that does not call Keep, for MaxRun at most: work that
// hangs does not keep other processes from the job. Work whose lease is lost ends.
func TestJobRenewsBesideWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{free: true}
		j := auditJob(newTestRunner(l), func(o *JobOptions) {
			o.Interval, o.MaxRun = time.Hour, 10*time.Minute+time.Second
		})
		release := make(chan struct{})
		runs, ended := 0, error(nil)
		stop := start(t, j, func(ctx context.Context) error {
			switch runs++; runs {
			case 1:
				<-release // ignores its context
				return ctx.Err()
			default:
				<-ctx.Done()
				ended = context.Cause(ctx)
				return ctx.Err()
			}
		})
		pass(10 * time.Minute)
		if l.count() != 41 {
			t.Errorf("asked for the lease %d times in ten minutes, want 41", l.count())
		}
		pass(5 * time.Minute)
		if l.count() != 41 {
			t.Errorf("the lease was renewed %d times after the time of the run, want 0", l.count()-41)
		}
		close(release)
		synctest.Wait()
		if s := j.Status(); s.Failed != 1 || s.Running {
			t.Errorf("after work that hung: %+v", s)
		}
		pass(46 * time.Minute) // the next run
		l.set(false, nil)
		pass(time.Minute)
		if !errors.Is(ended, ErrLost) || j.Status().Holder || j.Status().Running || j.Status().Failed != 1 {
			t.Errorf("after the lease was lost: %v, %+v", ended, j.Status())
		}
		stop()
	})
}

// Work on request holds the lease for as long as it runs, and ends when the lease is lost: when
// another process has it, or the database has not answered for half of its TTL.
func TestHold(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(*leases){
		"not lost":     func(*leases) {},
		"taken":        func(l *leases) { l.free = false },
		"unreachable":  func(l *leases) { l.fails = errors.New("down") },
		"ignored":      func(l *leases) { l.free = false },
		"at the start": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &leases{free: lose != nil}
			r := newTestRunner(l)
			began, worked := time.Now(), false
			err := r.Hold(t.Context(), "audit", time.Minute, func(ctx context.Context) error {
				worked = true
				second := r.Hold(t.Context(), "audit", time.Minute, func(context.Context) error {
					t.Errorf("%s: two works in this process hold the lease", what)
					return nil
				})
				if !errors.Is(second, ErrLost) {
					t.Errorf("%s: the second work: got %v, want ErrLost", what, second)
				}
				time.Sleep(time.Minute)
				l.mu.Lock()
				lose(l)
				l.mu.Unlock()
				select {
				case <-time.After(10 * time.Minute):
					return nil
				case <-ctx.Done():
					if what == "ignored" {
						return nil
					}
					return ctx.Err()
				}
			})
			took := time.Since(began)
			if what == "not lost" {
				if err != nil || took != 11*time.Minute || len(l.released) != 1 {
					t.Errorf("%s: got %v after %s, released %v", what, err, took, l.released)
				}
				err := r.Hold(t.Context(), "audit", time.Minute, func(context.Context) error { return nil })
				if err != nil {
					t.Errorf("after the first: %v", err)
				}
				return
			}
			if !errors.Is(err, ErrLost) || took >= 2*time.Minute || worked == (what == "at the start") {
				t.Errorf("%s: got %v after %s, worked %t, want that the lease is not held", what, err, took, worked)
			}
		})
	}
}

// Work that takes long renews the lease before it expires and not more often, and notices that
// another process has taken it.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &leases{free: true}
		j := auditJob(newTestRunner(l), func(o *JobOptions) { o.Interval = 5 * time.Second })
		keep := func(what string, want error, asked int) {
			t.Helper()
			before := l.asked
			if err := j.Keep(t.Context()); !errors.Is(err, want) || l.asked-before != asked {
				t.Errorf("%s: got %v after %d requests, want %v after %d", what, err, l.asked-before, want, asked)
			}
		}
		keep("at first", nil, 1)
		time.Sleep(14 * time.Second)
		keep("before a quarter of its ttl", nil, 0)
		time.Sleep(time.Second)
		keep("after a quarter of its ttl", nil, 1)
		time.Sleep(15 * time.Second)
		l.free = false
		keep("taken by another process", ErrLost, 1)
		time.Sleep(4 * time.Second)
		keep("soon after that", ErrLost, 0)
		l.free = true
		time.Sleep(time.Second)
		keep("once it is free", nil, 1)
	})
}

// runs stores when jobs ran.
type runs struct {
	began map[string]time.Time
	fails error
}

func (r *runs) SinceRun(_ context.Context, name string) (time.Duration, bool, error) {
	at, ran := r.began[name]
	return time.Since(at), ran, r.fails
}

func (r *runs) RecordRun(_ context.Context, name string, took time.Duration) error {
	r.began[name] = time.Now().Add(-took)
	return r.fails
}

// Processes that live for less than the interval run the job once in it, all together: it is due by
// the last completed run of any of them.
func TestJobIsDueByItsStoredRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stored := &runs{began: make(map[string]time.Time)}
		began := time.Now()
		var ran []time.Duration
		fail := false
		process := func() (stop func() time.Duration) {
			j := auditJob(newTestRunner(&leases{free: true}), func(o *JobOptions) {
				o.Interval, o.First, o.Retry, o.Runs = 24*time.Hour, time.Minute, time.Hour, stored
			})
			return start(t, j, func(context.Context) error {
				ran = append(ran, time.Since(began).Round(time.Minute))
				if fail {
					return errors.New("not done")
				}
				return nil
			})
		}
		live := func(d time.Duration) {
			stop := process()
			pass(d)
			stop()
		}
		for range 6 { // two runs in 50 hours
			live(10 * time.Hour)
		}
		fail = true
		live(14 * time.Hour) // the third is due at 48 h 2 min; the fourth fails and is repeated
		fail = false
		live(2 * time.Minute)
		want := []time.Duration{time.Minute, 24*time.Hour + time.Minute, 48*time.Hour + time.Minute}
		if len(ran) < 3 || !slices.Equal(ran[:3], want) {
			t.Errorf("ran after %v, want %v", ran, want)
		}
		if n := len(ran); n != 3+2+1 || ran[n-1]-ran[n-3] > 3*time.Hour {
			t.Errorf("ran after %v, want failed runs repeated each hour, also by the next process", ran)
		}
		stored.fails = errors.New("no connection")
		live(3 * time.Hour)
		if n := len(ran); n != 6 {
			t.Errorf("ran after %v without knowing when the last run was", ran)
		}
	})
}
