package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// However many reads of the past one player, one board's readers or clients without a token have
// running, another reads another board at once; timelines leave room for single reads.
func TestOnePlayerLeavesReadsOfPast(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	submit(t, s, "ada", 5, "global")
	at := scoreboard.PastTime{At: now(t, s)}
	for what, read := range map[string]func(i int) (caller string, board scoreboard.BoardID, long bool){
		"one player": func(i int) (string, scoreboard.BoardID, bool) {
			return "eve", scoreboard.BoardID('a' + rune(i)), false
		},
		"without tokens": func(i int) (string, scoreboard.BoardID, bool) {
			return "", scoreboard.BoardID('a' + rune(i)), false
		},
		"one board": func(i int) (string, scoreboard.BoardID, bool) { return string('a' + rune(i)), "busy", false },
		"timelines": func(i int) (string, scoreboard.BoardID, bool) {
			return string('a' + rune(i)), scoreboard.BoardID('a' + rune(i)), true
		},
	} {
		var releases []func()
		for i := range 6 {
			caller, board, long := read(i)
			if release, ok := s.PastBoards.HoldRead(share.WithCaller(t.Context(), caller), board, long); ok {
				releases = append(releases, release)
			}
		}
		ctx, cancel := context.WithTimeout(share.WithCaller(t.Context(), "ada"), 10*time.Second)
		if _, err := s.PastBoards.Top(ctx, &global, at, nil, 10); err != nil {
			t.Errorf("%s: another's read fails: %v", what, err)
		}
		cancel()
		caller, board, long := read(7)
		if _, ok := s.PastBoards.HoldRead(share.WithCaller(t.Context(), caller), board, long); ok {
			t.Errorf("%s: no bound was reached", what)
		}
		for _, release := range releases {
			release()
		}
	}
	release, _ := s.PastBoards.HoldRead(share.WithCaller(t.Context(), "eve"), "a", false)
	defer release()
	second, _ := s.PastBoards.HoldRead(share.WithCaller(t.Context(), "eve"), "b", false)
	defer second()
	_, err := s.PastBoards.Top(share.WithCaller(t.Context(), "eve"), &global, at, nil, 10)
	if wire.CodeOf(err) != wire.CodeOverloaded {
		t.Errorf("a third read of eve: %v, want overloaded", err)
	}
}
