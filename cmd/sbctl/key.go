package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

func newKeyCmd(p *program) *cobra.Command {
	return newNounCmd("key", "Manage the keys that sign increments", `
  sbctl key create --name game-server
  sbctl key list`,
		audited(newKeyCreateCmd(p)), newKeyListCmd(p), audited(newKeyRotateCmd(p)), audited(newKeyRevokeCmd(p)))
}

func newKeyCreateCmd(p *program) *cobra.Command {
	var r client.KeyRequest
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Make a signing key; its secret is shown this once", Args: takes(),
		Example: trimExamples(`
  sbctl key create --name game-server --output json
  sbctl key create --name eu-arena --board arena --user-prefix eu: --max-delta 100 --per-minute 6000 --ttl 2160h`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			switch {
			case r.Name == "":
				return usagef("--name is missing")
			case ttl < 0 || r.MaxDelta < 0 || r.PerMinute < 0:
				return usagef("--ttl, --max-delta and --per-minute cannot be below 0")
			case ttl > 0:
				r.TTL = ttl.String()
			}
			key, err := c.CreateKey(cmd.Context(), r)
			if err != nil {
				return err
			}
			return p.printSecret(key)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Name, "name", "", "what the key is for")
	flags.DurationVar(&ttl, "ttl", 0, "how long it lives; 0 is until it is revoked")
	flags.StringSliceVar(&r.Boards, "board", nil, "a board that it may sign for; all when none is named")
	flags.StringVar(&r.UserPrefix, "user-prefix", "", "sign for users whose id begins so")
	flags.Int64Var(&r.MaxDelta, "max-delta", 0, "the most of one event, in either direction; 0 is the board's bound")
	flags.IntVar(&r.PerMinute, "per-minute", 0, "the most events in a minute; 0 is any")
	return cmd
}

// printSecret prints a key with the secret that is shown only now.
func (p *program) printSecret(key client.Key) error {
	p.say("keep the secret: it is not shown again")
	return p.print(key, func() *table {
		t := newTable()
		t.add("key_id", key.KeyID)
		t.add("secret", key.Secret)
		t.add("name", key.Name)
		if scope := keyScope(key); scope != "" {
			t.add("signs for", scope)
		}
		if key.ExpiresAt != nil {
			t.add("expires", key.ExpiresAt.Format(time.RFC3339))
		}
		if key.RetiresAt != nil {
			t.add("former until", key.RetiresAt.Format(time.RFC3339))
		}
		return t
	})
}

// keyScope says what a key may sign, "" for anything.
func keyScope(k client.Key) string {
	var parts []string
	if len(k.Boards) > 0 {
		parts = append(parts, "boards "+strings.Join(k.Boards, ","))
	}
	if k.UserPrefix != "" {
		parts = append(parts, "users "+k.UserPrefix+"…")
	}
	if k.MaxDelta > 0 {
		parts = append(parts, fmt.Sprintf("±%d each", k.MaxDelta))
	}
	if k.PerMinute > 0 {
		parts = append(parts, fmt.Sprintf("%d/min", k.PerMinute))
	}
	return strings.Join(parts, ", ")
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
				t := newTable("KEY", "NAME", "CREATED", "SIGNS FOR", "STATE")
				for _, k := range keys {
					t.add(k.KeyID, tui.Printable(k.Name), k.CreatedAt.Format(time.RFC3339), cmp.Or(keyScope(k), "anything"), keyState(k))
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
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired " + k.ExpiresAt.Format(time.RFC3339)
	case k.RetiresAt != nil:
		return "former secret until " + k.RetiresAt.Format(time.RFC3339)
	case k.ExpiresAt != nil:
		return "until " + k.ExpiresAt.Format(time.RFC3339)
	}
	return "live"
}

// findKey is a key as it is now; an empty one where there is none, which the
// server says of what is asked of it then.
func findKey(ctx context.Context, c *client.Client, id string) (client.Key, error) {
	keys, err := c.Keys(ctx)
	if i := slices.IndexFunc(keys, func(k client.Key) bool { return k.KeyID == id }); i >= 0 {
		return keys[i], nil
	}
	return client.Key{}, err
}

func newKeyRotateCmd(p *program) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Give a signing key another secret; the former one stays good for a while", Args: takes("ID"),
		Long: `Gives a key another secret, which is shown this once. The former secret stays
good for --overlap, so that signers can be changed one by one; a secret before
that ends at once, which is asked about while it is still good. --overlap 0s
ends the former one, too.`,
		Example: trimExamples(`
  sbctl key rotate k_7f3a --output json
  sbctl key rotate k_7f3a --overlap 0s --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if overlap < 0 {
				return usagef("--overlap cannot be below 0")
			}
			k, err := findKey(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			question := ""
			switch {
			case overlap == 0:
				question = fmt.Sprintf("Rotate key %s without an overlap? What is signed with its secret is refused from then on.", args[0])
			case k.RetiresAt != nil:
				question = fmt.Sprintf("Rotate key %s again? Its former secret is good until %s, and what is signed with it is refused from then on.",
					args[0], k.RetiresAt.Format(time.RFC3339))
			}
			if question != "" {
				if err := p.confirm(cmd.Context(), question); err != nil {
					return err
				}
			}
			key, err := c.RotateKey(cmd.Context(), args[0], overlap)
			if err != nil {
				return err
			}
			return p.printSecret(key)
		}),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the former secret stays good")
	return cmd
}

func newKeyRevokeCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a signing key; what it signed stays counted", Args: takes("ID"),
		Example: trimExamples(`
  sbctl key revoke k_7f3a
  sbctl key revoke k_7f3a --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			k, err := findKey(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if k.RevokedAt != nil {
				p.say("key %s was revoked already, %s", args[0], k.RevokedAt.Format(time.RFC3339))
				return nil
			}
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Revoke key %s? Its signatures are refused from then on.", args[0])); err != nil {
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
