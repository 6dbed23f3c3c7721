package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/suggest"
)

// scopes are those that a token may carry. A token with another is good, and
// opens nothing.
var scopes = []string{"score:update", "score:admin", "ws_conn"}

func newTokenCmd(p *program) *cobra.Command {
	return newNounCmd("token", "Mint tokens on a development server", `
  sbctl token mint --user alice
  sbctl token mint --user alice --scope score:update --ttl 1h > alice.token`,
		newTokenMintCmd(p))
}

func newTokenMintCmd(p *program) *cobra.Command {
	var r client.TokenRequest
	var asked []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "mint", Short: "Print a token for a user (development issuer only)", Args: takes(),
		Example: trimExamples(`
  sbctl token mint --user alice --ttl 1h
  sbctl token mint --user game-server --scope score:update --scope score:admin`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if r.UserID == "" {
				return usagef("--user is missing")
			}
			if ttl <= 0 {
				return usagef("--ttl must be longer than nothing")
			}
			r.Scope, r.TTL = strings.Join(asked, " "), ttl.String()
			for scope := range strings.FieldsSeq(r.Scope) {
				if !slices.Contains(scopes, scope) {
					return usagef("there is no scope %q; there are %s%s", scope, strings.Join(scopes, ", "), suggest.Closest(scope, scopes, ""))
				}
			}
			token, err := c.MintToken(cmd.Context(), r)
			if err != nil {
				return err
			}
			if p.output == "json" {
				return p.print(token, nil)
			}
			_, err = fmt.Fprintln(p.stdout, token.Token) // alone, so that $(…) is the token
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.UserID, "user", "", "whose token it is")
	flags.StringSliceVar(&asked, "scope", nil, "score:update to write for anyone, score:admin to operate, ws_conn to join streams only")
	flags.DurationVar(&ttl, "ttl", 15*time.Minute, "how long it lives")
	return cmd
}
