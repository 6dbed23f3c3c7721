package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/migrations"
)

// If another event is rejected between the result and its application, nothing is voided: the
// server answers with a conflict, and sbctl shows the new result and exits with 3. With the
// digest of the new result, both events are voided.
func TestWhatIfAppliedTooLate(t *testing.T) {
	t.Parallel()
	node := startNode(t, backends.Postgres(t, migrations.Up), backends.Redis(t))
	root := newClient(t, node, "root", "score:admin score:update")
	submit := func() {
		if _, err := root.Submit(t.Context(), client.Increment{User: "mallory", Delta: 900}); err != nil {
			t.Error(err)
		}
	}
	if _, err := root.Submit(t.Context(), client.Increment{User: "mallory", Delta: 10}); err != nil {
		t.Fatal(err)
	}
	submit()
	// Another rejected event arrives just before sbctl applies what it has shown.
	var late atomic.Bool
	late.Store(true)
	target, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), `"apply":true`) && late.Swap(false) {
			submit()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"max_delta":500}`), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := func() (code int, out, errOut string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), []string{
			"what-if", "--rules", rules, "--since", "1h", "--apply", "--reason", "bots", "--yes", "--output", "json",
			"--server", between.URL,
		}, strings.NewReader(""), &stdout, &stderr,
			[]string{"SBCTL_TOKEN=" + instance.Token("root", "score:admin"), "HOME=" + t.TempDir()})
		return code, stdout.String(), stderr.String()
	}
	code, out, said := apply()
	if late.Load() {
		t.Fatalf("nothing was applied: %d, %s%s", code, out, said)
	}
	var shown client.WhatIf
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != exitCheckFailed || shown.Rejected != 2 ||
		shown.Void != nil || !strings.Contains(said, "nothing was voided") {
		t.Errorf("got exit code %d, %v, and %+v, want 3 and the new result\n%s", code, err, shown, said)
	}
	voids := func(want int) {
		t.Helper()
		all, err := root.Voids(t.Context())
		if err != nil || len(all) != want {
			t.Errorf("got %d voids, %v, want %d", len(all), err, want)
		}
	}
	voids(0)
	// The same at the API, with the digest of another result.
	request := client.WhatIfRequest{WhatIfRequest: wire.WhatIfRequest{
		Since: time.Now().Add(-time.Hour), Apply: true, Digest: strings.Repeat("0", 64), Reason: "bots",
	}, Rules: json.RawMessage(`{"max_delta":500}`)}
	_, err = root.WhatIf(t.Context(), request, nil)
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Code != wire.CodeConflict ||
		!strings.Contains(failed.Message, shown.Digest) {
		t.Errorf("another digest: got %v, want a conflict with the digest %s", err, shown.Digest)
	}
	voids(0)
	if code, out, said := apply(); code != exitOK {
		t.Errorf("the new result: got exit code %d\n%s%s", code, out, said)
	}
	voids(1)
	eventually(t, "a ranking with the 10 points that are left", func() error {
		place, err := root.Score(t.Context(), "mallory", client.PlaceQuery{})
		if err == nil && place.Score != 10 {
			err = fmt.Errorf("mallory has %d", place.Score)
		}
		return err
	})
}
