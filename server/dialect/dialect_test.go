package dialect

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestNumericIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"0": "0", "42": "42", "9007199254740991": "9007199254740991", "9007199254740992": `"9007199254740992"`,
		"007": `"007"`, "-1": `"-1"`, "+1": `"+1"`, "1.0": `"1.0"`, "alice": `"alice"`, "": `""`,
	} {
		if got, err := json.Marshal(numericID(id)); err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", id, got, err, want)
		}
	}
}

// A row of the caller is never older than the caller's standing.
func TestFirstRowsIncludeThePlace(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	board := func(users ...scoreboard.UserID) *scoreboard.Top {
		top := &scoreboard.Top{}
		for i, user := range users { // 100, 99, …
			top.Entries = append(top.Entries, scoreboard.Entry{
				Rank: int64(i + 1), User: user, Score: scoreboard.Score(100 - i),
			})
			top.Reached = append(top.Reached, at)
		}
		return top
	}
	twelve := []scoreboard.UserID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	for name, tt := range map[string]struct {
		top   *scoreboard.Top
		place scoreboard.Place
		want  []scoreboard.UserID
	}{
		"included":       {board("a", "b"), scoreboard.Place{User: "b", Score: 99, Rank: 2}, []scoreboard.UserID{"a", "b"}},
		"older row":      {board("a", "b"), scoreboard.Place{User: "b", Score: 101, Rank: 1}, []scoreboard.UserID{"b", "a"}},
		"fallen":         {board("a", "b"), scoreboard.Place{User: "a", Score: 5, Rank: 2}, []scoreboard.UserID{"b", "a"}},
		"missing":        {board("a"), scoreboard.Place{User: "z", Score: 100, Rank: 1}, []scoreboard.UserID{"a", "z"}},
		"empty":          {board(), scoreboard.Place{User: "z", Score: 1, Rank: 1}, []scoreboard.UserID{"z"}},
		"not among them": {board(twelve...), scoreboard.Place{User: "z", Score: 1, Rank: 13}, twelve[:10]},
		"left the first ten": {
			board(twelve...), scoreboard.Place{User: "a", Score: 1, Rank: 12}, twelve[1:11],
		},
	} {
		tt.place.UpdatedAt = at.Add(time.Second)
		var got []scoreboard.UserID
		for i, e := range withPlace(tt.top, &tt.place, scoreboard.OrderHighest) {
			got = append(got, e.User)
			if e.Rank != int64(i+1) {
				t.Errorf("%s: row %d has rank %d", name, i, e.Rank)
			}
			if e.User == tt.place.User && e.Score != tt.place.Score {
				t.Errorf("%s: the caller's row has score %d, want %d", name, e.Score, tt.place.Score)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
