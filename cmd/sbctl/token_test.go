package main

import (
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestScopesMatchTheServer(t *testing.T) {
	t.Parallel()
	if want := auth.Scopes(); !slices.Equal(scopes, want) {
		t.Errorf("got %v, the server has %v", scopes, want)
	}
}
