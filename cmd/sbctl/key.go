package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newKeyCmd(p *program) *cobra.Command {
	return newNounCmd("key", "Manage the keys that sign increments", `
  sbctl key create --name game-server
  sbctl key list`,
		newKeyCreateCmd(p), newKeyListCmd(p), newKeyRevokeCmd(p))
}

func newKeyCreateCmd(p *program) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a signing key; its secret is shown this once", Args: takes(),
		Example: trimExamples(`
  sbctl key create --name game-server
  sbctl key create --name game-server --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			if name == "" {
				return usagef("--name is missing")
			}
			key, err := c.CreateKey(cmd.Context(), name)
			if err != nil {
				return err
			}
			p.say("keep the secret: it is not shown again")
			return p.print(key, func() *table {
				t := newTable()
				t.add("key_id", key.KeyID)
				t.add("secret", key.Secret)
				t.add("name", key.Name)
				return t
			})
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "what the key is for")
	return cmd
}

func newKeyListCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the signing keys, without their secrets", Args: takes(),
		Example: trimExamples(`
  sbctl key list
  sbctl key list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			keys, err := c.Keys(cmd.Context())
			if err != nil {
				return err
			}
			return p.print(keys, func() *table {
				t := newTable("KEY", "NAME", "CREATED", "STATE")
				for _, k := range keys {
					t.add(k.KeyID, tui.Printable(k.Name), k.CreatedAt.Format(time.RFC3339), keyState(k))
				}
				return t
			})
		}),
	}
}

func keyState(k client.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + k.RevokedAt.Format(time.RFC3339)
	case k.ExpiresAt != nil:
		return "until " + k.ExpiresAt.Format(time.RFC3339)
	}
	return "live"
}

func newKeyRevokeCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a signing key; what it signed stays counted", Args: takes("ID"),
		Example: trimExamples(`
  sbctl key revoke k_7f3a
  sbctl key revoke k_7f3a --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := p.confirm(fmt.Sprintf("Revoke key %s? Its signatures are refused from then on.", args[0])); err != nil {
				return err
			}
			if err := c.RevokeKey(cmd.Context(), args[0]); err != nil {
				return err
			}
			p.say("key %s is revoked", args[0])
			return nil
		}),
	}
}
