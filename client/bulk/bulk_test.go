package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/bulk"
	"github.com/scoreboard/scoreboard/client/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledger counts like the server: each event id of a user once.
type ledger struct {
	mu     sync.Mutex
	events map[string]int64
	scores map[string]int64
	order  map[string][]int64 // deltas of each user, in order of arrival
	before func(client.Increment) error
	after  func(client.Increment) error   // the increment is counted, its response lost
	whole  func([]client.Increment) error // rejects a whole batch
	sent   []int                          // lines of each batch
}

func newLedger() *ledger {
	return &ledger{events: map[string]int64{}, scores: map[string]int64{}, order: map[string][]int64{}}
}

func (l *ledger) Submit(_ context.Context, in client.Increment) (client.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before != nil {
		if err := l.before(in); err != nil {
			return client.Receipt{}, err
		}
	}
	key := in.User + "|" + in.EventID
	_, replayed := l.events[key]
	if !replayed {
		l.events[key] = in.Delta
		l.scores[in.User] += in.Delta
		l.order[in.User] = append(l.order[in.User], in.Delta)
	}
	if l.after != nil {
		if err := l.after(in); err != nil {
			return client.Receipt{}, err
		}
	}
	return client.Receipt{UserID: in.User, NewScore: l.scores[in.User], Replayed: replayed, Status: "done"}, nil
}

func (l *ledger) SubmitBatch(ctx context.Context, ins []client.Increment) ([]client.Result, error) {
	l.mu.Lock()
	l.sent = append(l.sent, len(ins))
	whole := l.whole
	l.mu.Unlock()
	if whole != nil {
		if err := whole(ins); err != nil {
			return nil, err
		}
	}
	results := make([]client.Result, len(ins))
	for i, in := range ins {
		results[i].Receipt, results[i].Err = l.Submit(ctx, in)
	}
	return results, nil
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"user_id\":\"u%d\",\"delta\":%d}\n", i%7, i+1)
	}
	return b.String()
}

func submit(t *testing.T, ctx context.Context, l *ledger, text, path string) (bulk.Tally, []bulk.Result, error) {
	t.Helper()
	var failed []bulk.Result
	job := bulk.Job{
		Source: strings.NewReader(text), CSV: strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "user_id"),
		Results: path, Workers: 4,
		Failed: func(r bulk.Result) { failed = append(failed, r) },
	}
	job.ShortenTimeouts()
	tally, err := job.Run(ctx, l)
	if sum := tally.Done + tally.Rejected + tally.Unsent + tally.Skipped; sum != tally.Lines {
		t.Errorf("%+v: got %d lines, but outcomes for %d", tally, tally.Lines, sum)
	}
	if all := strings.Count(text, "\n"); err == nil && !strings.Contains(text, "user_id,") &&
		(!tally.Whole || tally.Lines != all) {
		t.Errorf("%+v: want %d lines and the source read to its end", tally, all)
	}
	slices.SortFunc(failed, func(a, b bulk.Result) int { return a.Line - b.Line })
	return tally, failed, err
}

func TestEveryLineCountsOnceInOrder(t *testing.T) {
	t.Parallel()
	l := newLedger()
	tally, _, err := submit(t, t.Context(), l, lines(1000), "")
	if err != nil || tally.Done != 1000 || tally.Replayed != 0 || tally.Bytes != int64(len(lines(1000))) {
		t.Errorf("got %+v, %v", tally, err)
	}
	for user, deltas := range l.order {
		if !slices.IsSorted(deltas) {
			t.Errorf("the lines of %s arrived out of order: %v", user, deltas)
		}
	}
}

func TestInvalidLinesAreReportedAndSkipped(t *testing.T) {
	t.Parallel()
	ndjson := `{"user_id":"alice","delta":5}

{"user_id":"alice","delta":1.5}
{"user_id":"alice","dleta":5}
{"user_id":"alice"}
not json
` + `{"user_id":"` + strings.Repeat("a", 20<<10) + `","delta":1}
{"user_id":"banned","delta":1}
{"user_id":"alice","delta":7} {"user_id":"bob","delta":7}
{"user_id":"alice","delta":2}`
	csv := "user_id,delta,event_id\nalice,5,e1\nalice,many,e2\n\"alice\"x,1,e3\nalice,2\nbanned,1,e4\nalice,2,e5\n"
	for _, tc := range []struct {
		text  string
		lines []int
	}{{ndjson, []int{3, 4, 5, 6, 7, 8, 9}}, {csv, []int{3, 4, 5, 6}}} {
		l := newLedger()
		l.before = func(in client.Increment) error {
			if in.User == "banned" {
				return &client.Error{Status: 403, Code: wire.CodeForbidden, Message: "the user is banned"}
			}
			return nil
		}
		tally, failed, err := submit(t, t.Context(), l, tc.text, "")
		var rejected []int
		for _, r := range failed {
			rejected = append(rejected, r.Line)
			if r.Status != bulk.Rejected || r.Code == "" || r.Message == "" {
				t.Errorf("line %d: got %+v, want Rejected with code and message", r.Line, r)
			}
		}
		if err != nil || tally.Done != 2 || tally.Rejected != len(tc.lines) || !slices.Equal(rejected, tc.lines) {
			t.Errorf("got %+v, %v, rejected lines %v, want %v", tally, err, rejected, tc.lines)
		}
		if l.scores["alice"] != 7 || l.scores["bob"] != 0 {
			t.Errorf("scores: got %v, want only alice's 7", l.scores)
		}
	}
}

// A byte order mark is no part of the first line or column, and a number may have any form.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\ufeffuser_id,delta\r\na,1\r\nb,2\r\n",
		"\ufeff{\"user_id\":\"a\",\"delta\":1.0}\r\n{\"user_id\":\"b\",\"delta\":2e0}\r\n",
	} {
		l := newLedger()
		if _, failed, err := submit(t, t.Context(), l, text, ""); err != nil || len(failed) > 0 ||
			l.scores["a"] != 1 || l.scores["b"] != 2 {
			t.Errorf("%q: got %v, %v, %v, want both lines", text, l.scores, failed, err)
		}
	}
}

// Both forms of a file have the period that must be current.
func TestLinesForAPeriod(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"user_id,delta,board,if_period\na,1,w,w:1\n", `{"user_id":"a","delta":1,"board":"w","if_period":"w:1"}` + "\n",
	} {
		l := newLedger()
		var got []string
		l.before = func(in client.Increment) error {
			got = append(got, in.Board+" "+in.IfPeriod)
			return nil
		}
		if tally, _, err := submit(t, t.Context(), l, text, ""); err != nil || tally.Done != 1 ||
			!slices.Equal(got, []string{"w w:1"}) {
			t.Errorf("%q: got %v, %+v, %v", text, got, tally, err)
		}
	}
}

// Both forms of a file have the subscore, and a row without one has none.
func TestLinesWithSubscores(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"user_id,delta,subscore\na,1,-2\nb,1,\nc,1,0\n",
		`{"user_id":"a","delta":1,"subscore":-2.0}` + "\n" + `{"user_id":"b","delta":1}` + "\n" +
			`{"user_id":"c","delta":1,"subscore":0}` + "\n",
	} {
		l := newLedger()
		got := map[string]string{}
		l.before = func(in client.Increment) error {
			got[in.User] = "none"
			if in.Subscore != nil {
				got[in.User] = fmt.Sprint(*in.Subscore)
			}
			return nil
		}
		if tally, _, err := submit(t, t.Context(), l, text, ""); err != nil || tally.Done != 3 ||
			!maps.Equal(got, map[string]string{"a": "-2", "b": "none", "c": "0"}) {
			t.Errorf("%q: got %v, %+v, %v", text, got, tally, err)
		}
	}
	for _, text := range []string{
		"user_id,delta,subscore\na,1,x\n", `{"user_id":"a","delta":1,"subscore":1.5}` + "\n",
	} {
		tally, failed, err := submit(t, t.Context(), newLedger(), text, "")
		if err != nil || tally.Rejected != 1 || len(failed) != 1 {
			t.Errorf("%q: got %+v, %v, %v, want a rejected line", text, tally, failed, err)
		}
	}
}

func TestInvalidColumns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"user_id,score\na,1\n", "user_id\na\n"} {
		if _, _, err := submit(t, t.Context(), newLedger(), text, ""); err == nil {
			t.Errorf("columns %q: got no error", text)
		}
	}
}

// A run that was stopped, or lost responses, is completed by the next run with the
// same result file; no line counts twice.
func TestStoppedRunResumes(t *testing.T) {
	t.Parallel()
	text := lines(500)
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	for round := 0; ; round++ {
		if round > 20 {
			t.Fatal("the run did not complete in 20 rounds")
		}
		ctx, cancel := context.WithCancel(t.Context())
		counted := 0
		l.after = func(client.Increment) error {
			if counted++; counted == 60 {
				cancel()
			}
			if counted%50 == 0 {
				return away()
			}
			return nil
		}
		tally, _, err := submit(t, ctx, l, text, path)
		cancel()
		if err == nil && tally.Unsent == 0 {
			break
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	var sum, want int64
	for _, score := range l.scores {
		sum += score
	}
	for i := range 500 {
		want += int64(i + 1)
	}
	if sum != want || len(l.events) != 500 {
		t.Errorf("got a sum of %d over %d events, want %d over 500", sum, len(l.events), want)
	}
	tally, _, err := submit(t, t.Context(), l, text, path)
	if err != nil || tally.Skipped != 500 || tally.Done != 0 {
		t.Errorf("run again: got %+v, %v, want all skipped", tally, err)
	}
}
