package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowReads answers what reads whole boards, users or trails when it may go on.
type slowReads struct {
	Moderation
	BoardExports
	Imports
	trail
	began, goOn chan struct{}
}

func (s *slowReads) wait() { s.began <- struct{}{}; <-s.goOn }

func (s *slowReads) Known(context.Context, scoreboard.UserID) (bool, error) { return true, nil }

func (s *slowReads) Export(context.Context, scoreboard.UserID, func(string, json.RawMessage) error) error {
	s.wait()
	return nil
}

func (s *slowReads) VerifyChain(context.Context, *scoreboard.AuditSeal) (*scoreboard.AuditChain, error) {
	s.wait()
	return &scoreboard.AuditChain{}, nil
}

func (s *slowReads) ImportBoard(context.Context, int64) (scoreboard.BoardID, error) {
	return "global", nil
}

func (s *slowReads) SummarizeImport(
	context.Context, int64,
) (scoreboard.BoardID, scoreboard.ImportSummary, error) {
	s.wait()
	return "global", scoreboard.ImportSummary{}, nil
}

// slowBoards answers what reads or rebuilds whole boards when it may go on.
type slowBoards struct {
	Jobs
	JobLog
	openBoard
	*slowReads
}

func (s *slowBoards) Export(context.Context, *scoreboard.Board, func([]scoreboard.FinalStanding) error) error {
	s.wait()
	return nil
}

func (s *slowBoards) Board(_ context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	return &scoreboard.Board{ID: id, Family: id, Public: true}, nil
}

func (s *slowBoards) Halted(context.Context) (string, error) { return "", nil }

func (s *slowBoards) Rebuild(
	context.Context, *scoreboard.Board, func(users, total int64),
) (wire.Rebuilt, error) {
	s.wait()
	return wire.Rebuilt{}, nil
}

func (s *slowBoards) Start(context.Context, *scoreboard.Job) error { return nil }

func (s *slowBoards) Report(context.Context, int64, []byte) (bool, error) { return false, nil }

func (s *slowBoards) End(context.Context, int64, string, []byte) error { return nil }

// So have exports of boards, and jobs that rebuild, compare or repair rankings.
func TestJobsOnBoardsHaveShares(t *testing.T) {
	t.Parallel()
	export := func(board string) (method, path, body string) {
		return http.MethodGet, "/v1/admin/boards/" + board + "/export", ""
	}
	rebuild := func(board string) (method, path, body string) {
		return http.MethodPost, pathRebuild, `{"board":"` + board + `"}`
	}
	for name, c := range map[string]struct {
		first, other func(board string) (method, path, body string)
		board        func(i int) string
		caller       func(i int) scoreboard.UserID
	}{
		"exports of one caller": {
			export, export, func(i int) string { return fmt.Sprint("b", i) },
			func(int) scoreboard.UserID { return "eve" },
		},
		"exports of one board": {
			export, rebuild, func(int) string { return "busy" },
			func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprint("op", i)) },
		},
		"jobs of one caller": {
			rebuild, export, func(i int) string { return fmt.Sprint("b", i) },
			func(int) scoreboard.UserID { return "eve" },
		},
		"jobs on one board": {
			rebuild, rebuild, func(int) string { return "busy" },
			func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprint("op", i)) },
		},
	} {
		slow := &slowBoards{slowReads: &slowReads{began: make(chan struct{}), goOn: make(chan struct{})}}
		a := everything(&trail{}, func(o *Options) {
			o.Catalog = slow
			o.Operations = &Operations{Exports: slow, Jobs: slow, JobLog: slow}
		})
		ask := func(of func(string) (string, string, string), board string, caller scoreboard.UserID) int {
			method, path, body := of(board)
			return asks(t, a, route{method: method, path: path}, "", minted(t, a, caller, auth.ScopeAdmin), body)
		}
		var running sync.WaitGroup
		begin := func(of func(string) (string, string, string), board string, caller scoreboard.UserID) {
			running.Go(func() {
				if status := ask(of, board, caller); status != http.StatusOK {
					t.Errorf("%s: on %s by %s: %d", name, board, caller, status)
				}
			})
			<-slow.began
		}
		for i := range maxJobs - 1 {
			begin(c.first, c.board(i), c.caller(i))
		}
		if status := ask(c.first, c.board(maxJobs), c.caller(maxJobs)); status != http.StatusConflict {
			t.Errorf("%s: the last slot: %d, want 409", name, status)
		}
		begin(c.other, "another", "ada")
		close(slow.goOn)
		running.Wait()
	}
}

// Exports of users, checks of the audit trail and summaries of imports have slots, of which neither
// one caller nor one board takes the last.
func TestSlowReadsOfOperatorsHaveShares(t *testing.T) {
	t.Parallel()
	const export, verify = "/v1/admin/users/u%d/export", "/v1/admin/audit/verify"
	const summary = "/v1/admin/imports/%d/summary"
	for name, c := range map[string]struct {
		path   func(i int) string
		caller func(i int) scoreboard.UserID
		other  string
	}{
		"exports of one caller": {
			func(i int) string { return fmt.Sprintf(export, i) },
			func(int) scoreboard.UserID { return "eve" }, verify,
		},
		"checks of one caller": {
			func(int) string { return verify },
			func(int) scoreboard.UserID { return "eve" }, fmt.Sprintf(export, 1),
		},
		"summaries of one board": {
			func(i int) string { return fmt.Sprintf(summary, i) },
			func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprint("op", i)) }, fmt.Sprintf(export, 1),
		},
	} {
		slow := &slowReads{began: make(chan struct{}), goOn: make(chan struct{})}
		a := everything(slow, func(o *Options) {
			o.Moderation = struct{ Moderation }{slow}
			o.Operations = &Operations{Imports: slow}
		})
		get := func(path string, caller scoreboard.UserID) int {
			r := route{method: http.MethodGet, path: path}
			return asks(t, a, r, "", minted(t, a, caller, auth.ScopeAdmin), "")
		}
		var running sync.WaitGroup
		begin := func(path string, caller scoreboard.UserID) {
			running.Go(func() {
				if status := get(path, caller); status != http.StatusOK {
					t.Errorf("%s: %s of %s: %d", name, path, caller, status)
				}
			})
			<-slow.began
		}
		for i := range maxJobs - 1 {
			begin(c.path(i+1), c.caller(i+1))
		}
		if status := get(c.path(maxJobs), c.caller(maxJobs)); status != http.StatusConflict {
			t.Errorf("%s: the last slot: %d, want 409", name, status)
		}
		begin(c.other, "ada")
		close(slow.goOn)
		running.Wait()
	}
}
