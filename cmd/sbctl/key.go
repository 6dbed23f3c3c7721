package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newKeyCmd(p *program) *cobra.Command {
	return newNounCmd("key", "Manage signing keys", `
  sbctl key create --name game-server
  sbctl key list`,
		withReason(newKeyCreateCmd(p)), newKeyListCmd(p), withReason(newKeyRotateCmd(p)),
		withReason(newKeyRevokeCmd(p)))
}

func newKeyCreateCmd(p *program) *cobra.Command {
	var r client.KeyRequest
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Create a signing key; its secret is shown once", Args: exactArgs(),
		Example: trimExamples(`
  sbctl key create --name game-server --output json
  sbctl key create --name eu-arena --board arena --user-prefix eu: --max-delta 100 --per-minute 6000 --ttl 2160h`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			switch {
			case ttl < 0 || r.MaxDelta < 0 || r.PerMinute < 0:
				return usagef("--ttl, --max-delta and --per-minute must not be negative")
			case ttl > 0:
				r.TTL = ttl.String()
			}
			key, err := c.CreateKey(cmd.Context(), r)
			if err != nil {
				return err
			}
			return printSecret(p.output, key)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Name, "name", "", "name of the key")
	flags.DurationVar(&ttl, "ttl", 0, "lifetime of the key; 0: until revoked")
	flags.StringSliceVar(&r.Boards, "board", nil, "board that the key may sign for (repeatable; default: all)")
	flags.StringVar(&r.UserPrefix, "user-prefix", "", "allow signing only for users whose id has this prefix")
	flags.Int64Var(&r.MaxDelta, "max-delta", 0, "maximum absolute delta of an event; 0: the board's limits")
	flags.IntVar(&r.PerMinute, "per-minute", 0, "maximum number of events per minute; 0: unlimited")
	requireFlags(cmd, "name")
	return cmd
}

// printSecret prints a key with its secret, which is never shown again.
func printSecret(out *output, key client.Key) error {
	out.infof("store the secret: it is not shown again")
	return out.print(key, func() *table {
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
			t.add("old secret until", key.RetiresAt.Format(time.RFC3339))
		}
		return t
	})
}

// keyScope lists the limits of a key; "" if it has none.
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
		Use: "list", Short: "List signing keys, without their secrets", Args: exactArgs(),
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
					t.add(k.KeyID, k.Name, k.CreatedAt.Format(time.RFC3339),
						cmp.Or(keyScope(k), "everything"), keyState(k))
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
		return "old secret until " + k.RetiresAt.Format(time.RFC3339)
	case k.ExpiresAt != nil:
		return "until " + k.ExpiresAt.Format(time.RFC3339)
	}
	return "active"
}

// findKey returns a key, or an empty one if it does not exist: the request that
// follows then fails with the server's not_found. With --curl it is not looked up.
func findKey(ctx context.Context, curl bool, c *client.Client, id string) (client.Key, error) {
	if curl {
		return client.Key{}, nil
	}
	keys, err := c.Keys(ctx)
	if i := slices.IndexFunc(keys, func(k client.Key) bool { return k.KeyID == id }); i >= 0 {
		return keys[i], nil
	}
	return client.Key{}, err
}

func newKeyRotateCmd(p *program) *cobra.Command {
	var overlap time.Duration
	var master bool
	cmd := &cobra.Command{
		Use: "rotate [ID]", Short: "Give a signing key a new secret; the old one stays valid for a while",
		Args: func(cmd *cobra.Command, args []string) error {
			if master {
				return exactArgs()(cmd, args)
			}
			return exactArgs("ID")(cmd, args)
		},
		Long: `Give a signing key a new secret, which is shown once. The old secret stays valid
for --overlap, so that signers can be updated one by one. Rotating again within the
overlap invalidates the older secret immediately, after a confirmation. With
--overlap 0s the old secret is invalid immediately.

With --master, encrypt all stored secrets with the first key of auth.master_key: the
third step of a rotation of the master key, whose steps docs/runbook/rotate-master-key.md
has. It can be repeated, and ends with exit status 3 if a secret cannot be decrypted.`,
		Example: trimExamples(`
  sbctl key rotate k_7f3a --output json
  sbctl key rotate k_7f3a --overlap 0s --yes
  sbctl key rotate --master`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if master {
				if cmd.Flags().Changed("overlap") {
					return usagef("--overlap cannot be combined with --master")
				}
				return rotateMasterKey(cmd.Context(), p, c)
			}
			if overlap < 0 {
				return usagef("--overlap must not be negative")
			}
			k, err := findKey(cmd.Context(), p.curl, c, args[0])
			if err != nil {
				return err
			}
			question := ""
			switch {
			case overlap == 0:
				question = fmt.Sprintf(
					"Rotate key %s without an overlap? Signatures with its old secret will be rejected.", args[0])
			case k.RetiresAt != nil:
				question = fmt.Sprintf(
					"Rotate key %s again? Its old secret is valid until %s; signatures with it will be rejected.",
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
			return printSecret(p.output, key)
		}),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old secret stays valid")
	cmd.Flags().BoolVar(&master, "master", false, "encrypt all stored secrets with the first master key")
	return cmd
}

// rotateMasterKey encrypts all stored secrets with the first master key.
func rotateMasterKey(ctx context.Context, p *program, c *client.Client) error {
	r, err := c.RotateMasterKey(ctx)
	if err != nil {
		return err
	}
	if err := p.print(r, func() *table {
		t := newTable()
		t.add("encrypted again", strconv.Itoa(r.Encrypted))
		t.add("unchanged", strconv.Itoa(r.Unchanged))
		if len(r.Unreadable) > 0 {
			t.add("unreadable", strings.Join(r.Unreadable, ", "))
		}
		return t
	}); err != nil {
		return err
	}
	if len(r.Unreadable) > 0 {
		p.infof("no master key of the server decrypts the unreadable secrets: add their key to auth.master_key, or " +
			"give each a new secret with sbctl key rotate or sbctl webhook rotate")
		return errCheckFailed
	}
	return nil
}

func newKeyRevokeCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a signing key; events that it signed stay counted", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl key revoke k_7f3a
  sbctl key revoke k_7f3a --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			k, err := findKey(cmd.Context(), p.curl, c, args[0])
			if err != nil {
				return err
			}
			if k.RevokedAt != nil {
				p.infof("key %s was already revoked at %s", args[0], k.RevokedAt.Format(time.RFC3339))
				return nil
			}
			if err := p.confirm(cmd.Context(),
				fmt.Sprintf("Revoke key %s? Its signatures will be rejected.", args[0])); err != nil {
				return err
			}
			if err := c.RevokeKey(cmd.Context(), args[0]); err != nil {
				return err
			}
			p.infof("key %s is revoked", args[0])
			return nil
		}),
	}
}
