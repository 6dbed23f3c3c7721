package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
)

// scopes are the scopes that the server defines. It would mint a token with any other
// scope, but such a scope grants nothing.
var scopes = []string{"score:update", "score:operate", "score:admin", "ws_conn"}

func newTokenCmd(p *program) *cobra.Command {
	return newNounCmd("token", "Mint tokens on a development server", `
  sbctl token mint --user alice
  sbctl token mint --user alice --scope score:update --ttl 1h > alice.token`,
		newTokenMintCmd(p))
}

// explainMint explains the error of a server without a development issuer, which does
// not have the route.
func explainMint(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Code != wire.CodeNotFound {
		return err
	}
	explained := *e
	explained.Message = "this server issues no tokens: its setting auth.dev_issuer is off"
	return &hintedError{&explained, "get a token from the identity provider, or, where the server has " +
		`auth.jwt_secret, with "scoreboardd token"`}
}

func newTokenMintCmd(p *program) *cobra.Command {
	var r client.TokenRequest
	var requested []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "mint", Short: "Print a token for a user (development issuer only)", Args: exactArgs(),
		Example: trimExamples(`
  sbctl token mint --user alice --ttl 1h
  sbctl token mint --user game-server --scope score:update --scope score:admin`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if ttl <= 0 {
				return usagef("--ttl must be greater than 0")
			}
			r.Scope, r.TTL = strings.Join(requested, " "), ttl.String()
			for scope := range strings.FieldsSeq(r.Scope) {
				if !slices.Contains(scopes, scope) {
					return usagef("unknown scope %q; must be one of %s%s", scope, strings.Join(scopes, ", "),
						english.Closest(scope, scopes, ""))
				}
			}
			token, err := c.MintToken(cmd.Context(), r)
			if err != nil {
				return explainMint(err)
			}
			if p.structured() {
				return p.print(token, nil)
			}
			_, err = fmt.Fprintln(p.stdout, token.Token) // nothing else, for $(…)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.UserID, "user", "", "user of the token")
	flags.StringSliceVar(&requested, "scope", nil,
		"score:update (write for any user), score:operate (operate), score:admin (administer) or ws_conn (only join "+
			"streams); repeatable")
	flags.DurationVar(&ttl, "ttl", 15*time.Minute, "lifetime of the token")
	requireFlags(cmd, "user")
	return cmd
}
