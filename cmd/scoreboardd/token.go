package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Bounds of a token's lifetime. auth.max_token_ttl can lower the maximum, because
// the daemon would reject the token.
const (
	minTokenTTL = time.Second
	maxTokenTTL = 30 * 24 * time.Hour
)

func newToken() *cobra.Command {
	var user string
	var scopes []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "token", Short: "Print a token signed with auth.jwt_secret", Args: noCommand,
		Long: `Print a bearer token for a user, signed with auth.jwt_secret. The settings come from
the same flags, variables and file as the daemon's. Neither the daemon nor a backend
needs to run. Use it for the first operator, then create signing keys with
"sbctl key create". With auth.jwks_url the identity provider issues the tokens.`,
		Example: "  scoreboardd token --user operator --scope score:admin --ttl 1h\n" +
			"  export SBCTL_TOKEN=$(scoreboardd token --user operator --scope score:admin)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := load(cmd.Flags(), os.LookupEnv)
			if err != nil {
				return err
			}
			token, err := issueToken(c, user, scopes, ttl)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token) // nothing else, for $(…)
			return err
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "user of the token")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil,
		"score:update (write for any user), score:operate (operate), score:admin (administer) or ws_conn (only join "+
			"streams); repeatable")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "lifetime of the token, at most auth.max_token_ttl")
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		own.AddFlagSet(cmd.LocalNonPersistentFlags())
		return ownUsage(cmd, own)
	})
	return cmd
}

// issueToken returns a token that a daemon with this configuration accepts.
func issueToken(c *config.Config, name string, scopes []string, ttl time.Duration) (string, error) {
	if name == "" {
		return "", fmt.Errorf("--user is required (%w)", errUsage)
	}
	user, err := scoreboard.ParseClientUserID(name)
	if err != nil {
		return "", fmt.Errorf("--user %q: %w (%w)", name, err, errUsage)
	}
	scope := strings.Fields(strings.Join(scopes, " "))
	known := auth.Scopes()
	for _, s := range scope {
		if !slices.Contains(known, s) {
			return "", fmt.Errorf("unknown scope %q; must be one of %s%s (%w)", s, strings.Join(known, ", "),
				english.Closest(s, known, ""), errUsage)
		}
	}
	switch {
	case c.Auth.JWKSURL != "":
		return "", errors.New("auth.jwks_url is set: the identity provider issues the tokens, and the daemon " +
			"accepts no others")
	case c.Auth.JWTSecret == "":
		return "", fmt.Errorf("auth.jwt_secret is not set: run this with the daemon's settings (%s, --%s or --config)",
			config.EnvName("auth.jwt_secret"), config.FlagName("auth.jwt_secret"))
	}
	longest, because := maxTokenTTL, ""
	if ttl := c.Auth.MaxTokenTTL; ttl > 0 && ttl < longest {
		longest, because = ttl, ", the setting auth.max_token_ttl"
	}
	if ttl < minTokenTTL || ttl > longest {
		return "", fmt.Errorf("--ttl must be %s to %s%s, not %s (%w)", minTokenTTL, longest, because, ttl, errUsage)
	}
	tokens := auth.NewTokens(c.Auth.JWTSecret, c.Auth.Issuer, c.Auth.Audience, time.Now)
	token, _, err := tokens.Mint(user, strings.Join(scope, " "), ttl)
	return token, err
}
