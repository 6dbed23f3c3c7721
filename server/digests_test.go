package server_test

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// threatTable returns the cells of a table of docs/threats.md by its heading.
func threatTable(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), heading+"\n")
	if !ok {
		t.Fatalf("docs/threats.md has no table %s", heading)
	}
	body, _, _ := strings.Cut(rest, "\n\n")
	for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
		if i == 0 {
			continue // the line below the heading
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

var inCode = regexp.MustCompile("`([^`]+)`")

// productFiles calls do with each file of the product that may compute digests or name keys.
func productFiles(t *testing.T, do func(path, text string)) {
	t.Helper()
	for _, root := range []string{"server", "client", "internal", "cmd", "migrations", "tui"} {
		err := filepath.WalkDir("../"+root, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../")
			switch ext := filepath.Ext(path); {
			case err != nil:
				return err
			case d.IsDir() && name == "internal/test":
				return fs.SkipDir
			case d.IsDir() || ext != ".go" && ext != ".sql" && ext != ".lua" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			do(name, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every file that computes a digest is in the table of the threat model, with what the digest is of,
// and what that reveals to whom is in the table before.
func TestDigestsAreListed(t *testing.T) {
	t.Parallel()
	computes := regexp.MustCompile(`\b(?:sha(?:1|256|512)\.(?:New|Sum)\w*\(|sha256\.New,|md5\.(?:New|Sum)|` +
		`hkdf\.|pbkdf2\.|uuid\.NewSHA1|(?:md5|sha256|sha512)\(|\w*[hH]ash(?:es)?_hmac|blake\w+\.)`)
	found := map[string]bool{}
	productFiles(t, func(path, text string) {
		for line := range strings.Lines(text) {
			code, _, _ := strings.Cut(line, "//")
			if computes.MatchString(code) {
				found[path] = true
			}
		}
	})
	what := ""
	for _, row := range threatTable(t, "| what | computed from | who sees it | what it reveals |") {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("a digest without what it reveals to whom: %q", row)
		}
		what += row[0] + "\n"
	}
	listed := map[string]bool{}
	for _, row := range threatTable(t, "| computed in | what |") {
		for _, m := range inCode.FindAllStringSubmatch(row[0], -1) {
			listed[m[1]] = true
		}
		for of := range strings.SplitSeq(strings.ReplaceAll(row[1], " and ", ", "), ", ") {
			if of = strings.TrimPrefix(of, "event ids of "); !strings.Contains(what, strings.TrimSuffix(of, "s")) {
				t.Errorf("the table of digests has no %q", of)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if !listed[path] {
			t.Errorf("%s computes a digest: say in docs/threats.md what it is of, and what that reveals to whom", path)
		}
	}
	for path := range listed {
		if !found[path] {
			t.Errorf("%s computes no digest", path)
		}
	}
}

// Every key that the product writes to Redis is in the table of the threat model.
func TestKeysInRedisAreListed(t *testing.T) {
	t.Parallel()
	varies := regexp.MustCompile(`[A-Z]+`)
	patterns := map[string]*regexp.Regexp{}
	for _, row := range threatTable(t, "| key | holds | of whom | kept |") {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("a key without what it holds, of whom and how long: %q", row)
		}
		for _, m := range inCode.FindAllStringSubmatch(row[0], -1) {
			quoted := regexp.QuoteMeta(m[1])
			patterns[m[1]] = regexp.MustCompile("^" + varies.ReplaceAllString(quoted, ".+") + "$")
		}
	}
	literal := regexp.MustCompile(`"(\{?sb:[^" *]*)"`)
	productFiles(t, func(path, text string) {
		for _, m := range literal.FindAllStringSubmatch(text, -1) {
			prefix := strings.TrimSuffix(m[1], "{")
			if prefix == "sb:" || m[1] == "sb:notices" { // the prefix of all; a channel
				continue
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(patterns)), func(key string) bool {
				return strings.HasPrefix(strings.TrimPrefix(key, "{"), prefix)
			}) {
				t.Errorf("%s names the key %s: say in docs/threats.md what it holds, and of whom", path, m[1])
			}
		}
	})

	h := newHarness(t)
	h.settings["transport"], h.settings["ingest-async"] = "streams", "true"
	h.settings["limit-updates-per-minute"], h.settings["limit-top-per-minute"] = "100", "100"
	n := h.start(allRoles + ",intake")
	ada := bearer(h.token("ada", "", time.Hour))
	ada.Set("Prefer", "respond-async")
	status, _, body := request(t, http.MethodPost, n.URL+"/v1/scores/increment", `{"user_id":"ada","delta":5,`+
		`"event_id":"3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b",`+
		`"timestamp":"`+time.Now().UTC().Format(time.RFC3339)+`"}`, ada)
	if status != http.StatusAccepted {
		t.Fatalf("an increment for later: %d %s", status, body)
	}
	for _, path := range []string{"/v1/realtime/token", "/v1/leaderboard/top"} {
		if status, body := h.get(t, n.URL+path, ada); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	h.await("the score", func() bool {
		_, body := h.get(t, n.URL+"/v1/leaderboard/top", nil)
		_, mine := h.get(t, n.URL+"/v1/leaderboard/me", ada)
		return strings.Contains(body+mine, `"score":5`)
	})
	keys, err := backends.RedisClient(t, h.redis.URL).Keys(t.Context(), "*").Result()
	if err != nil || len(keys) < 8 {
		t.Errorf("got the keys %q, %v", keys, err)
	}
	for _, key := range keys {
		if !slices.ContainsFunc(slices.Collect(maps.Values(patterns)), func(p *regexp.Regexp) bool {
			return p.MatchString(key)
		}) {
			t.Errorf("Redis has the key %s, which docs/threats.md does not list", key)
		}
	}
}
