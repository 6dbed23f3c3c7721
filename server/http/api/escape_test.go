package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Whatever a client sends, in whatever place of a request to any route, no error repeats
// it with control characters or direction marks in it.
func TestErrorsAreEscaped(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	a.Configure(Policy{SignatureOptional: true})
	token := minted(t, a, "alice", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	repeated := 0
	send := func(place, method, target, body string, header http.Header) {
		t.Helper()
		req := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		req.URL, req.RequestURI, req.Header = u, target, header.Clone()
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, req)
		var e wire.Error
		if w.Code < http.StatusBadRequest || json.Unmarshal(w.Body.Bytes(), &e) != nil {
			return
		}
		if strings.Contains(e.Message+e.Field, "u202e") {
			repeated++
		}
		for _, text := range []string{e.Message, e.Field, e.EventID, e.RequestID} {
			if text != scoreboard.Escape(text) {
				t.Errorf("%s of %s %s: got %q", place, method, target, text)
			}
		}
	}
	isJSON := http.Header{"Content-Type": {"application/json"}}
	for _, hostile := range []string{"a\u202eb\u2066c\u200bd\u2028e", "\u202e\x1b[2J\x00\u009b\n", "\u202e\xff"} {
		quoted, err := json.Marshal(hostile)
		if err != nil {
			t.Fatal(err)
		}
		escaped := url.QueryEscape(hostile)
		for _, r := range a.handlers.routes() {
			inPath := r.path
			for _, name := range []string{":user_id", ":id", ":event_id", ":board", ":key_id", ":name"} {
				inPath = strings.ReplaceAll(inPath, name, url.PathEscape(hostile))
			}
			path := strings.NewReplacer(":user_id", "alice", ":id", "1", ":event_id", "e1", ":board", "daily",
				":key_id", "k", ":name", "reads.top_n").Replace(r.path)
			send("the path", r.method, inPath, "{}", isJSON)
			send("the end of the path", r.method, path+"/"+url.PathEscape(hostile), "{}", isJSON)
			send("a parameter's name", r.method, path+"?"+escaped+"=1", "{}", isJSON)
			send("a repeated parameter", r.method, path+"?"+escaped+"=&"+escaped+"=", "{}", isJSON)
			for _, name := range r.query {
				send("parameter "+name, r.method, path+"?"+url.QueryEscape(name)+"="+escaped, "{}", isJSON)
			}
			send("a field's name", r.method, path, `{`+string(quoted)+`:1}`, isJSON)
			send("a repeated field", r.method, path, `{`+string(quoted)+`:1,`+string(quoted)+`:1}`, isJSON)
			for _, name := range []string{
				"user_id", "event_id", "board", "action", "reason", "timestamp", "name", "value", "mode", "period",
				"topic", "display_name", "country", "attestation", "action_token", "action_min", "signature",
				"key_id",
			} {
				send("field "+name, r.method, path, `{"`+name+`":`+string(quoted)+`}`, isJSON)
			}
			for _, name := range []string{
				"Content-Type", "Origin", "User-Agent", "X-Request-Id", "Prefer", "Accept", "Last-Event-ID", "Upgrade",
				wire.HeaderSignature, wire.HeaderKey, wire.HeaderTimestamp,
			} {
				send("header "+name, r.method, path, "{}", http.Header{name: {hostile}})
			}
		}
	}
	if repeated < 100 {
		t.Errorf("%d errors repeat what was sent, want at least 100: this test checks too little", repeated)
	}
}
