package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
)

func TestRowsMatchEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nullable := rapid.Ptr(rapid.Int64(), true)
		at := time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")).UTC()
		entry := func(name string) wire.Entry {
			return wire.Entry{
				Rank: rapid.Int64().Draw(t, name), UserID: rapid.String().Draw(t, name),
				Score: rapid.Int64().Draw(t, name), Subscore: nullable.Draw(t, name),
				DisplayName: rapid.String().Draw(t, name), Private: rapid.Bool().Draw(t, name),
				Metadata: rapid.SampledFrom([]wire.Object{"", `{"a":1}`}).Draw(t, name),
			}
		}
		p := wire.Place{
			Board: "arena", UserID: rapid.String().Draw(t, "user"), Score: rapid.Int64().Draw(t, "score"),
			Subscore: nullable.Draw(t, "subscore"), Version: nullable.Draw(t, "version"), UpdatedAt: at, AsOf: at,
			AttemptsLeft: nullable.Draw(t, "attempts"), Neighbours: []wire.Entry{entry("above"), entry("below")},
		}
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestReceiptMatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nullable := rapid.Ptr(rapid.Int64(), true)
		r := wire.Receipt{
			UserID: rapid.String().Draw(t, "user"),
			Board:  rapid.StringMatching(`[a-z:<>&"]*`).Draw(t, "board"),
			NewScore: rapid.Int64().
				Draw(t, "score"),
			PreviousScore:    nullable.Draw(t, "previous"),
			NewSubscore:      nullable.Draw(t, "new subscore"),
			PreviousSubscore: nullable.Draw(t, "previous subscore"),
			Rank:             nullable.Draw(t, "rank"),
			Version:          rapid.Int64().Draw(t, "version"),
			ProcessedEventID: rapid.String().Draw(t, "event"),
			Applied: rapid.Int64().
				Draw(t, "applied"),
			Replayed:   rapid.Bool().Draw(t, "replayed"),
			Reversed:   rapid.Bool().Draw(t, "reversed"),
			RecordedAt: time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")).UTC(),
			Status:     wire.StatusDone,
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}
