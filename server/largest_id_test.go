package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Every list takes the largest id to begin at: PostgreSQL takes a parameter that is compared with 0 first for one of
// 32 bits.
func TestListsFromTheLargestID(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	_, _, body := request(t, http.MethodGet, n.URL+"/openapi.json", "", nil)
	var document struct {
		Paths map[string]struct {
			Get *struct{ Parameters []struct{ Name, In string } }
		}
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for path, route := range document.Paths {
		if route.Get == nil {
			continue
		}
		for _, p := range route.Get.Parameters {
			if p.In != "query" || p.Name != "before" && p.Name != "after" {
				continue
			}
			asked++
			of := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "global")
			url := fmt.Sprintf("%s%s?%s=%d", n.URL, of, p.Name, int64(math.MaxInt64))
			if status, _, body := request(t, http.MethodGet, url, "", root); status >= 500 {
				t.Errorf("GET %s?%s=%d: %d %s", of, p.Name, int64(math.MaxInt64), status, body)
			}
		}
	}
	if asked < 10 {
		t.Errorf("%d lists were asked, want at least 10", asked)
	}
}
