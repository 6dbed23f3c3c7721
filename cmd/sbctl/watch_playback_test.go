package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// Every part of a playback is of the period that the first part was of: a later one may begin when
// the family means the next period.
func TestPlaybackStaysInItsPeriod(t *testing.T) {
	t.Parallel()
	at := time.Now().UTC().Truncate(time.Second)
	var boards []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		boards = append(boards, r.URL.Query().Get("board"))
		timeline := client.Timeline{
			Board: "cup:one", Start: at, End: at.Add(time.Hour), NextFrom: new(at.Add(time.Minute)),
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(timeline); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: "a token"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := (&pastFlags{on: true, speed: "60x"}).playback(c, "cup", 5)
	if err != nil {
		t.Fatal(err)
	}
	for from := at; len(boards) < 3; {
		timeline, err := r.Load(t.Context(), from, at.Add(time.Hour), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		from = *timeline.NextFrom
	}
	if want := []string{"cup", "cup:one", "cup:one"}; !slices.Equal(boards, want) {
		t.Errorf("parts are read of %q, want %q", boards, want)
	}
}
