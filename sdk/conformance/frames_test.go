package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

type frameVector struct {
	Name  string `json:"name"`
	Delta bool   `json:"delta"` // the stream was opened with delta=1
	Steps []struct {
		AtMS      int64           `json:"at_ms"`
		Frame     json.RawMessage `json:"frame,omitempty"`
		Keepalive bool            `json:"keepalive,omitempty"`
		State     *state          `json:"state,omitempty"`
		Resync    bool            `json:"resync,omitempty"`
		Reconnect *bounds         `json:"reconnect,omitempty"`
	} `json:"steps"`
	Resume string `json:"resume"`
}

type state struct {
	Board    string       `json:"board"`
	Epoch    int64        `json:"epoch"`
	Version  int64        `json:"version"`
	Degraded string       `json:"degraded"`
	Top      []rowOf      `json:"top"`
	Me       *client.Move `json:"me,omitempty"`

	Tier *client.TierMove `json:"tier,omitempty"`
}

type rowOf = wire.Entry

// connect is a request of the watch, and the stream that answers it.
type connect struct {
	at     time.Time
	resume string
	stream *io.PipeWriter
}

// streams answers every request with a new stream.
type streams chan connect

func (s streams) RoundTrip(r *http.Request) (*http.Response, error) {
	body, stream := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
	s <- connect{time.Now(), r.Header.Get("Last-Event-ID"), stream}
	return respond(r, 200, map[string]string{"Content-Type": "text/event-stream"}, body), nil
}

// The Go client asks for no deltas; TestDeltas checks their vectors.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[frameVector]](t, "frames.json").Cases {
		if v.Delta {
			continue
		}
		t.Run(v.Name, func(t *testing.T) { synctest.Test(t, v.watch) })
	}
}

func (v frameVector) watch(t *testing.T) {
	connects := make(streams, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	states := newClient(t, connects, 1).Watch(ctx, "global", client.WatchOptions{EventStream: true})
	start, current := time.Now(), <-connects
	var last client.State
	for i, step := range v.Steps {
		time.Sleep(time.Duration(step.AtMS)*time.Millisecond - time.Since(start))
		message := ": ping\n\n"
		if !step.Keepalive {
			var line bytes.Buffer
			if err := json.Compact(&line, step.Frame); err != nil {
				t.Fatal(err)
			}
			message = fmt.Sprintf("data: %s\n\n", &line)
		}
		if _, err := io.WriteString(current.stream, message); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case last = <-states:
		default:
		}
		if step.Reconnect != nil {
			asked := time.Now()
			current = <-connects
			step.Reconnect.check(t, "before reconnecting", current.at.Sub(asked))
			continue
		}
		if got := stateOf(last); !reflect.DeepEqual(got, step.State) {
			t.Fatalf("step %d: got %+v, want %+v", i, got, step.State)
		}
	}
	if v.Steps[len(v.Steps)-1].Reconnect == nil {
		_ = current.stream.Close()
		current = <-connects
	}
	if current.resume != v.Resume {
		t.Errorf("resumed from %q, want %q", current.resume, v.Resume)
	}
}

func stateOf(s client.State) *state {
	out := &state{
		Board: s.Board, Epoch: s.Epoch, Version: s.Version, Degraded: s.Degraded, Top: s.Entries,
		Me: s.Me, Tier: s.Tier,
	}
	if out.Top == nil {
		out.Top = []rowOf{}
	}
	return out
}

// The rules of docs/protocol.md for deltas, as a client has to follow them.
func TestDeltas(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, v := range read[cases[frameVector]](t, "frames.json").Cases {
		if !v.Delta {
			continue
		}
		checked++
		t.Run(v.Name, v.merge)
	}
	if checked < 10 {
		t.Errorf("only %d vectors have deltas", checked)
	}
}

func (v frameVector) merge(t *testing.T) {
	var have *state
	for i, step := range v.Steps {
		var f wire.Message
		if err := json.Unmarshal(step.Frame, &f); err != nil {
			t.Fatal(err)
		}
		older := have != nil && (f.Epoch < have.Epoch || f.Epoch == have.Epoch && f.Version < have.Version)
		resync := false
		switch {
		case older:
		case f.Type == wire.MessageUpdated:
			have = &state{
				Board: f.Board, Epoch: f.Epoch, Version: f.Version, Degraded: f.DegradedReason, Top: f.Top,
			}
		case have != nil && f.Epoch == have.Epoch && f.Version == have.Version && have.Degraded == "":
		case have == nil || have.Degraded != "" || f.Epoch != have.Epoch || f.Base != have.Version:
			resync = true
		default:
			next := *have
			next.Version, next.Top = f.Version, mergeRows(have.Top, &f)
			have = &next
		}
		if resync != step.Resync {
			t.Fatalf("step %d: got resync %v", i, resync)
		}
		if !resync && !reflect.DeepEqual(have, step.State) {
			t.Fatalf("step %d: got %+v, want %+v", i, have, step.State)
		}
		resume := ""
		if !resync {
			resume = fmt.Sprintf("%d:%d", have.Epoch, have.Version)
		}
		if last := i == len(v.Steps)-1; resync && !last || last && v.Resume != resume {
			t.Errorf("step %d: resumes from %q", i, v.Resume)
		}
	}
}

func mergeRows(rows []rowOf, f *wire.Message) []rowOf {
	out := []rowOf{}
	for _, e := range rows {
		changed := slices.ContainsFunc(f.Changed, func(c rowOf) bool { return c.UserID == e.UserID })
		if !changed && !slices.Contains(f.Removed, e.UserID) {
			out = append(out, e)
		}
	}
	out = append(out, f.Changed...)
	slices.SortFunc(out, func(a, b rowOf) int { return int(a.Rank - b.Rank) })
	return out
}
