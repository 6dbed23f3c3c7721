package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/pages"
)

// Every route rejects unknown and repeated parameters before it authenticates, and
// pages ignore them.
func TestParametersOfRoutes(t *testing.T) {
	t.Parallel()
	a := everything(&trail{}, func(o *Options) { o.Catalog, o.Pages = openBoard{}, noneListed{} })
	send := func(r route, query string) (int, wire.Error) {
		w := httptest.NewRecorder()
		path := strings.NewReplacer(":user_id", "alice", ":page", "security", ":file", pages.Element, ":", "").
			Replace(r.path)
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), r.method, path+"?"+query, nil))
		var e wire.Error
		_ = json.Unmarshal(w.Body.Bytes(), &e) // a page is no JSON
		return w.Code, e
	}
	for _, r := range a.handlers.routes() {
		name := r.method + " " + r.path
		if r.isView() && r.path != pathPages { // of a board that is not listed
			if status, _ := send(r, "utm_source=a&utm_source=b&x="); status != http.StatusNotFound {
				t.Errorf("%s with unknown parameters: got %d, want 404", name, status)
			}
			continue
		}
		if r.data == showsNothing || r.path == pathPages {
			if status, _ := send(r, "utm_source=a&utm_source=b&x="); status != http.StatusOK {
				t.Errorf("%s with unknown parameters: got %d, want 200", name, status)
			}
			continue
		}
		for query, field := range map[string]string{
			"limits=10": "limits", "=1": "", "Board=global": "Board", "reason%20=x": "reason ", "unheard=": "unheard",
			"a%5B%5D=1": "a[]",
		} {
			status, e := send(r, query)
			if status != http.StatusBadRequest || e.ErrorCode != "invalid_request" || e.Field != field {
				t.Errorf("%s?%s: got %d %+v, want 400 for the field %q", name, query, status, e, field)
			}
		}
		for _, p := range r.query {
			for _, query := range []string{p + "=1&" + p + "=1", p + "&" + p, p + "=1&%" + hexOf(p[0]) + p[1:] + "=2"} {
				if status, e := send(r, query); status != http.StatusBadRequest || e.Field != p {
					t.Errorf("%s?%s: got %d %+v, want 400 for the field %q", name, query, status, e, p)
				}
			}
			if status, _ := send(r, p+"="); status == http.StatusBadRequest {
				t.Errorf("%s?%s=: got 400; an empty parameter is as if absent", name, p)
			}
		}
	}
}

func hexOf(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// With every parameter empty, a route runs its handler as without any: the handlers of
// this API call components that do not exist, and panic.
func TestEmptyParametersAreAbsent(t *testing.T) {
	t.Parallel()
	a := everything(&trail{}, func(o *Options) { o.Catalog = openBoard{} })
	token := minted(t, a, "alice", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	for _, r := range a.handlers.routes() {
		if len(r.query) == 0 || r.data == showsNothing {
			continue
		}
		without := asks(t, a, r, "alice", token, "{}")
		empty := r
		empty.path += "?" + strings.Join(r.query, "=&") + "="
		if got := asks(t, a, empty, "alice", token, "{}"); got != without {
			t.Errorf("%s %s: got %d, and %d without parameters", r.method, empty.path, got, without)
		}
	}
}

// A client over its limit learns of a bad parameter first, so that it can tell the two
// apart.
func TestParametersAreCheckedBeforeLimits(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	a.limits.Top = Rate{Users: full{}, Servers: full{}}
	r := route{method: http.MethodGet, path: pathTop + "?limits=1"}
	if got := asks(t, a, r, "", minted(t, a, "alice", auth.ScopeUpdate), ""); got != http.StatusBadRequest {
		t.Errorf("got %d, want 400", got)
	}
}
