package server_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Every node shows a job, its progress and its end, and can stop it. A job whose node has
// died is lost.
func TestConsoleJobsOfAllNodes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.start(allRoles), h.start("api")
	db, lock := backends.Connect(t, h.postgres), backends.Connect(t, h.postgres)
	furnish(t, one, db)
	token := h.token("olga", auth.ScopeOperate, time.Hour)
	here, there := newVisitor(t, one.Ops).signIn(token), newVisitor(t, two.Ops).signIn(token)
	lock.Do(t, `begin`)
	lock.Do(t, `lock table user_score_histories in access exclusive mode`)
	status, body, page := here.change("verify", url.Values{"board": {"global"}}, "apply")
	if status != http.StatusOK || !strings.HasPrefix(page, "/console/jobs/") {
		t.Fatalf("the start of a job: got %d at %s: %s", status, page, body)
	}
	if status, body, _ := there.get(page); status != http.StatusOK || !strings.Contains(body, ">running<") ||
		!strings.Contains(body, "job-stop") {
		t.Errorf("the job on another node: got %d %s", status, body)
	}
	for _, list := range []string{"/console/jobs", "/console/integrity"} {
		if _, body, _ := there.get(list); !strings.Contains(body, `href="`+page+`"`) {
			t.Errorf("%s of another node lacks the job: %s", list, body)
		}
	}
	id := strings.TrimPrefix(page, "/console/jobs/")
	if _, body, _ := there.change("job-stop", url.Values{"id": {id}}, "apply"); !strings.Contains(body,
		"being stopped") {
		t.Errorf("stopping the job on another node: got %s", body)
	}
	h.await("the job to stop", func() bool {
		_, body, _ := here.get(page)
		return strings.Contains(body, ">stopped<")
	})
	if _, body, _ := there.change("job-stop", url.Values{"id": {id}}, "apply"); !strings.Contains(body,
		"has ended already") {
		t.Errorf("stopping a job that has ended: got %s", body)
	}
	lock.Do(t, `commit`)

	_, body, page = here.change("verify", url.Values{"board": {"global"}}, "apply")
	h.await("the result on the other node", func() bool {
		_, body, _ = there.get(page)
		return strings.Contains(body, "No difference.")
	})

	// A node that stops ends its jobs; one that dies leaves them behind.
	lock.Do(t, `begin`)
	lock.Do(t, `lock table user_score_histories in access exclusive mode`)
	_, _, page = there.change("verify", url.Values{"board": {"global"}}, "apply")
	two.stop()
	lock.Do(t, `commit`)
	if _, body, _ := here.get(page); !strings.Contains(body, ">stopped<") {
		t.Errorf("the job of a node that has stopped: %s", body)
	}
	db.Do(t, `update jobs set seen_at = now() - interval '1 minute' where job_id = 1000`)
	if _, body, _ := here.get("/console/jobs/1000"); !strings.Contains(body, ">lost<") ||
		!strings.Contains(body, "Start the job again") {
		t.Errorf("the job of a node that has died: %s", body)
	}

	// An erasure deletes what names the user.
	db.Do(t, `update jobs set line = '{"type":"result","verified":{"differences":[{"user_id":"vera"}]}}'
		where job_id = 1000`)
	root := h.start(allRoles).client("root", auth.ScopeAdmin)
	if _, err := root.Erase(t.Context(), "vera", "asked"); err != nil {
		t.Fatal(err)
	}
	if n := db.Count(t, `select count(*) from jobs where job_id = 1000`); n != 0 {
		t.Error("the erasure left a job that names the user")
	}
}

// Operators find players by the beginning of their names, whatever its case, also those who
// are shown under a pseudonym. Others find players by id only.
func TestConsoleFindsPlayersByName(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		status, _, answer := request(t, method, n.URL+path, body, root)
		return status, answer
	}
	for user, name := range map[string]string{
		"u-1": "Ada Lovelace", "u-2": "ADAM", "u-3": "Bertha", "u-4": "Adele", "u-5": "100% Ada", "ada": "Zed",
		"u-6": "Ädele",
	} {
		if _, err := n.client("game", auth.ScopeUpdate).
			Submit(t.Context(), client.Increment{User: user, Delta: 5}); err != nil {
			t.Fatal(err)
		}
		status, body := ask(http.MethodPut, "/v1/users/"+user+"/profile", fmt.Sprintf(`{"display_name":%q}`, name))
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	for _, change := range [][2]string{
		{"/v1/admin/users/u-2/ban", `{"reason":"why"}`}, {"/v1/admin/users/u-4/erase", `{"reason":"why"}`},
	} {
		if status, body := ask(http.MethodPost, change[0], change[1]); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	hide := `{"visibility":"pseudonym"}`
	if status, body := ask(http.MethodPut, "/v1/users/u-1/privacy", hide); status != http.StatusOK {
		t.Fatal(status, body)
	}
	const one, two = `{"user_id":"u-1","display_name":"Ada Lovelace","status":"active"}`,
		`{"user_id":"u-2","display_name":"ADAM","status":"banned"}`
	for query, want := range map[string]string{
		"name=ada":                        `{"users":[` + one + `,` + two + `]}`,
		"name=ADA+l":                      `{"users":[` + one + `]}`,
		"name=ada&limit=1":                `{"users":[` + one + `],"next_after":"u-1"}`,
		"name=ada&after=u-1":              `{"users":[` + two + `]}`,
		"name=%25":                        `{"users":[]}`,
		"name=a_a":                        `{"users":[]}`,
		"name=ade":                        `{"users":[]}`,
		"name=ad&after=u-4":               "user u-4 no longer has a name",
		"":                                "name is missing",
		"name=ada&limit=101":              "limit must be an integer from 1 to 100",
		"name=" + strings.Repeat("a", 33): "name must be the start of a display name",
	} {
		if _, body := ask(http.MethodGet, "/v1/admin/users?"+query, ""); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %s", query, body, want)
		}
	}
	operator := newVisitor(t, n.Ops).signIn(h.token("olga", auth.ScopeOperate, time.Hour))
	for path, want := range map[string][2]string{
		"/console/players?user=Bert": {"/console/players/u-3", "Bertha"},
		"/console/players?user=u-3":  {"/console/players/u-3", "Bertha"},
		"/console/players?user=ada": {
			"/console/players?name=ada",
			`There is a player with the user id <a href="/console/players/ada">`,
		},
		"/console/players?user=nobody": {"/console/players?name=nobody", "No display name begins"},
		"/console/players?name=AD":     {"/console/players?name=AD", "ADAM"},
	} {
		status, body, at := operator.get(path)
		if status != http.StatusOK || at != want[0] || !strings.Contains(body, want[1]) {
			t.Errorf("%s: got %d at %s, want %s at %s: %s", path, status, at, want[1], want[0], body)
		}
	}
	viewer := newVisitor(t, n.Ops).signIn(h.token("vera", "", time.Hour))
	if status, body, at := viewer.get("/console/players?user=Bert"); status != http.StatusNotFound ||
		at != "/console/players/Bert" || strings.Contains(body, "u-3") {
		t.Errorf("a viewer's search by name: got %d at %s: %s", status, at, body)
	}

	// Among many names, the search reads the index alone.
	db.Do(t, `insert into profiles (user_id, display_name) select 'bulk-' || n, 'Name ' || n
		from generate_series(1, 20000) as n`)
	db.Do(t, `analyze profiles`)
	ask(http.MethodGet, "/v1/admin/users?name=name+1999", "")
	h.await("the index to be used", func() bool {
		return db.Count(t, `select idx_scan from pg_stat_user_indexes where indexrelname = 'profiles_name'`) > 0
	})
}

// upload sends a form with a file, as a browser does.
func (v *visitor) upload(change, field, name, content string, values url.Values) (status int, body, at string) {
	v.t.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for key := range values {
		_ = parts.WriteField(key, values.Get(key)) // a buffer returns no error
	}
	file, err := parts.CreateFormFile(field, name)
	if err != nil {
		v.t.Fatal(err)
	}
	_, _ = io.WriteString(file, content)
	_ = parts.Close()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+"/console/changes/"+change, &form)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", parts.FormDataContentType())
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Request.URL.RequestURI()
}

// Files are read as forms of a browser send them, have a bound, need the token of the form,
// and are rejected with the line or the reason before anything is written.
func TestConsoleUploads(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	db := backends.Connect(t, h.postgres)
	root := newVisitor(t, n.Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour))
	good := url.Values{
		"form_token": {root.token()}, "reason": {"why"}, "step": {"review"}, "board": {"global"}, "source": {"old"},
	}
	forged := url.Values{
		"form_token": {"x"}, "reason": {"why"}, "step": {"apply"}, "board": {"global"},
		"source": {"old"},
	}
	const header = "user_id,score\n"
	for name, c := range map[string]struct {
		change, field, content string
		form                   url.Values
		status                 int
		want                   string
	}{
		"a CSV file": {
			"import", "file", header + "ada,5\nbob,7\n", good, 200,
			"sbctl import csv f.csv --board global",
		},
		"a wrong line":   {"import", "file", header + "ada,5\nbob,x\n", good, 422, "Line 3"},
		"a wrong header": {"import", "file", "user,points\nada,5\n", good, 422, "want the columns user_id and score"},
		"no lines":       {"import", "file", header, good, 422, "The file has no records"},
		"a forged file":  {"import", "file", header + "ada,5\n", forged, 403, "not from this session"},
		"a large file":   {"import", "file", strings.Repeat("a", 5<<20), good, 413, "a file 4 MiB"},
		"a large form":   {"user-ban", "user", strings.Repeat("a", 70<<10), good, 413, "A form can have 64 KiB"},
	} {
		status, body, _ := root.upload(c.change, c.field, "f.csv", c.content, c.form)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d, want %d and %q: %.2000s", name, status, c.status, c.want, body)
		}
	}
	_, body, _ := root.upload("import", "file", `<script>alert(1)$(id).csv`, header+"ada,5\n", good)
	if !strings.Contains(body, "&lt;script&gt;alert(1)") || strings.Contains(body, "<script>alert") {
		t.Errorf("the name of a file is shown as it is: %s", body)
	}
	for _, table := range []string{"imports", "audit_log"} {
		if n := db.Count(t, `select count(*) from `+table); n != 0 {
			t.Errorf("a review has written to %s", table)
		}
	}
	good.Set("step", "apply")
	var file strings.Builder
	file.WriteString(header)
	for i := range 1200 {
		fmt.Fprintf(&file, "user-%d,%d\n", i, i)
	}
	file.WriteString("high,9007199254740991\n")
	_, _, at := root.upload("import", "file", "f.csv", file.String(), good)
	h.await("the import to end", func() bool {
		_, body, _ = root.get(at)
		return strings.Contains(body, `data-refresh=""`)
	})
	if !strings.Contains(body, "The board matches the file") ||
		db.Count(t, `select count(*) from import_scores`) != 1201 {
		t.Errorf("the import ended as %s", body)
	}
	if _, body, _ := newVisitor(t, h.start("api").Ops).signIn(h.token("root", auth.ScopeAdmin, time.Hour)).
		get(at); !strings.Contains(body, "1,201") {
		t.Errorf("another node shows the import as %s", body)
	}
}
