package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// settingsStub records changes.
type settingsStub struct{ changes []scoreboard.SettingChange }

func (s *settingsStub) Settings(context.Context) ([]wire.Setting, error) {
	return []wire.Setting{{Name: "reads.top_n", Value: "10"}}, nil
}

func (s *settingsStub) ChangeSettings(
	_ context.Context, changes []scoreboard.SettingChange, _ string,
) ([]wire.Setting, error) {
	s.changes = append(s.changes, changes...)
	return []wire.Setting{{Name: changes[0].Name, Version: 2}}, nil
}

func TestSettingsAlias(t *testing.T) {
	t.Parallel()
	stub := &settingsStub{}
	a := everything(&trail{}, func(o *Options) { o.Settings = stub })
	token, _, err := a.callers.tokens.Mint("root", auth.ScopeAdmin, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path, body string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Request-Id", "req")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "", ""},
		{http.MethodPut, "", `{"settings":[{"name":"reads.top_n","value":"7"}],"reason":"why"}`},
		{http.MethodPut, "", `{"settings":[]}`},
		{http.MethodPut, "/reads.top_n", `{"value":"7"}`},
		{http.MethodPut, "/reads.top_n", `{"value":"7","reset":true}`},
		{http.MethodDelete, "", ""},
	} {
		stub.changes = nil
		status, body := do(c.method, pathSettings+c.path, c.body)
		changes := stub.changes
		stub.changes = nil
		aliasStatus, aliasBody := do(c.method, pathSettingsAlias+c.path, c.body)
		if aliasStatus != status || aliasBody != body || status == http.StatusNotFound {
			t.Errorf(
				"%s %s %s: the alias returns %d %s, want %d %s",
				c.method,
				c.path,
				c.body,
				aliasStatus,
				aliasBody,
				status,
				body,
			)
		}
		if len(stub.changes) != len(changes) {
			t.Fatalf("%s %s: %d changes through the alias, want %d", c.method, c.path, len(stub.changes), len(changes))
		}
		for i, got := range stub.changes {
			if want := changes[i]; got.Name != want.Name || *got.Value != *want.Value ||
				got.Why.Action != "setting.set" || got.Why.Action != want.Why.Action ||
				got.Why.Target != "setting:reads.top_n" {
				t.Errorf("%s %s: change %+v by %+v, want %+v", c.method, c.path, got, got.Why, want)
			}
		}
	}
}
