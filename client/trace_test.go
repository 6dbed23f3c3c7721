package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/scoreboard/scoreboard/client"
)

type traceKey struct{}

// Each call has the traceparent of its own context, and a call without one has none.
func TestTraceparentOfTheContext(t *testing.T) {
	t.Parallel()
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, client.Options{Traceparent: func(ctx context.Context) string {
		text, _ := ctx.Value(traceKey{}).(string)
		return text
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, ctx := range []context.Context{context.WithValue(t.Context(), traceKey{}, parent), t.Context()} {
		if _, err := c.Top(ctx, client.TopQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != parent || got[1] != "" {
		t.Errorf("traceparents %q", got)
	}
}
