package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
)

// attest USER DELTA EVENT BOARD sets $ATTESTATION to a game server's attestation.
func attest(t *testing.T, game *fixtures.KeyPublisher) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		delta, err := strconv.Atoi(args[1])
		ts.Check(err)
		ts.Setenv("ATTESTATION",
			game.Sign(t, jwt.MapClaims{
				"user_id": args[0], "delta": delta, "event_id": args[2], "board": args[3],
				"iat": time.Now().Unix(),
			}))
	}
}

// action USER BOARD starts an action and sets $ACTION to its token.
func action(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		c, err := client.New(ts.Getenv("SBCTL_SERVER"), client.Options{Token: ts.Getenv("SBCTL_TOKEN")})
		ts.Check(err)
		defer c.Close()
		started, err := c.StartAction(t.Context(), client.ActionRequest{UserID: args[0], Board: args[1]})
		ts.Check(err)
		ts.Setenv("ACTION", started.ActionToken)
	}
}
