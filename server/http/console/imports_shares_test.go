package console

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/share"
)

// Of the two imports that run at once, neither one person nor one board has both.
func TestImportsOfTheConsoleHaveShares(t *testing.T) {
	t.Parallel()
	runs := &importRuns{turns: share.New(maxRunningRuns)}
	start := func(person, board string) (func(), bool) {
		ended, err := runs.start(share.WithCaller(t.Context(), person), board, &importRun{})
		return ended, err == nil
	}
	first, ok := start("eve", "arena")
	if !ok {
		t.Fatal("the first import does not start")
	}
	for _, other := range [][2]string{{"eve", "global"}, {"ada", "arena"}} {
		if _, ok := start(other[0], other[1]); ok {
			t.Errorf("a second import starts, of %s to %s", other[0], other[1])
		}
	}
	second, ok := start("ada", "global")
	if !ok {
		t.Error("eve's import to the arena stops ada's to global")
	}
	if _, ok := start("bob", "cup"); ok {
		t.Error("a third import starts")
	}
	first()
	if _, ok := start("bob", "cup"); !ok {
		t.Error("an import that has ended keeps its place")
	}
	second()
	if len(runs.kept) != 3 {
		t.Errorf("%d imports are kept, want 3", len(runs.kept))
	}
}
