package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newWebhookCmd(p *program) *cobra.Command {
	return newNounCmd("webhook", "Manage webhooks: signed messages about seasons, flags and ranks", `
  sbctl webhook create --url https://example.com/hooks --type season.closed
  sbctl webhook list`,
		withReason(newWebhookCreateCmd(p)), newWebhookListCmd(p), withReason(newWebhookRotateCmd(p)),
		withReason(newWebhookEnableCmd(p)), withReason(newWebhookTestCmd(p)), newWebhookDeliveriesCmd(p),
		withReason(newWebhookRetryCmd(p)), withReason(newWebhookDeleteCmd(p)))
}

func newWebhookCreateCmd(p *program) *cobra.Command {
	var r client.WebhookRequest
	cmd := &cobra.Command{
		Use: "create", Short: "Create a webhook; its secret is shown once", Args: exactArgs(),
		Long: `Create a webhook. The server sends it a signed message, as Standard Webhooks
describes, for each of the types:

  season.closed      a period of a board has ended, with its first ten users
  user.flagged       a user's events look suspicious and wait for review
  rank.reached       a user has entered the top --top of a board in --board
  user.tier.updated  a user's own event has moved the user to another tier of a board
  league.moved       players of a league have moved to another division
  reward.granted     a user has won a reward in a period, and can claim it

The secret is shown once. The receiver verifies messages with it.`,
		Example: trimExamples(`
  sbctl webhook create --url https://example.com/hooks --type season.closed,user.flagged
  sbctl webhook create --url https://example.com/hooks --type rank.reached --board arena --top 10 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			w, err := c.CreateWebhook(cmd.Context(), r)
			if err != nil {
				return err
			}
			return printWebhookSecret(p.output, w)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&r.URL, "url", "", "address that receives the messages: https, or http on this machine")
	flags.StringSliceVar(&r.Types, "type", nil,
		"type of message: season.closed, user.flagged, rank.reached, user.tier.updated, league.moved or "+
			"reward.granted (repeatable)")
	flags.StringSliceVar(&r.Boards, "board", nil, "only messages about this board (repeatable; default: all)")
	flags.IntVar(&r.Top, "top", 0, "rank to reach, 1 to 100, for rank.reached")
	requireFlags(cmd, "url", "type")
	return cmd
}

// printWebhookSecret prints a webhook with its secret, which is never shown again.
func printWebhookSecret(out *output, w client.Webhook) error {
	out.infof("store the secret: it is not shown again")
	return out.print(w, func() *table {
		t := newTable()
		t.add("webhook_id", w.WebhookID)
		t.add("secret", w.Secret)
		t.add("url", w.URL)
		t.add("sends", webhookScope(w))
		if w.RetiresAt != nil {
			t.add("old secret until", w.RetiresAt.Format(time.RFC3339))
		}
		return t
	})
}

// webhookScope lists what a webhook receives.
func webhookScope(w client.Webhook) string {
	text := strings.Join(w.Types, ",")
	if w.Top > 0 {
		text += fmt.Sprintf(" (top %d)", w.Top)
	}
	if len(w.Boards) > 0 {
		text += " of " + strings.Join(w.Boards, ",")
	}
	return text
}

func newWebhookListCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List webhooks, without their secrets", Args: exactArgs(),
		Example: trimExamples(`
  sbctl webhook list
  sbctl webhook list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Webhooks(cmd.Context())
			if err != nil {
				return err
			}
			return p.print(all, func() *table {
				t := newTable("WEBHOOK", "URL", "SENDS", ">PENDING", "OLDEST", "STATE")
				for _, w := range all {
					oldest := "-"
					if w.Pending > 0 {
						oldest = (time.Duration(w.PendingSeconds) * time.Second).String()
					}
					t.add(w.WebhookID, w.URL, webhookScope(w), strconv.Itoa(w.Pending), oldest, webhookState(w))
				}
				return t
			})
		}),
	}
}

func webhookState(w client.Webhook) string {
	switch {
	case w.DisabledAt != nil:
		return "disabled " + w.DisabledAt.Format(time.RFC3339) + ": " + w.Reason
	case w.RetiresAt != nil:
		return "old secret until " + w.RetiresAt.Format(time.RFC3339)
	}
	return "enabled"
}

func newWebhookRotateCmd(p *program) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Give a webhook a new secret; messages are signed with both for a while",
		Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl webhook rotate wh_7f3a
  sbctl webhook rotate wh_7f3a --overlap 0s --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if overlap < 0 {
				return usagef("--overlap must not be negative")
			}
			w, err := c.RotateWebhook(cmd.Context(), args[0], overlap)
			if err != nil {
				return err
			}
			return printWebhookSecret(p.output, w)
		}),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long messages are signed with the old secret too")
	return cmd
}

func newWebhookEnableCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "enable ID", Short: "Enable a disabled webhook; pending messages are sent first", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl webhook enable wh_7f3a
  sbctl webhook enable wh_7f3a --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			w, err := c.EnableWebhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p.infof("webhook %s is enabled", w.WebhookID)
			return nil
		}),
	}
}

func newWebhookTestCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "test ID", Short: "Send a message of the type webhook.test", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl webhook test wh_7f3a
  sbctl webhook deliveries wh_7f3a`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			d, err := c.TestWebhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p.infof("queued; see its outcome with: sbctl webhook deliveries %s", args[0])
			return p.print(d, func() *table { return deliveryTable([]client.WebhookDelivery{d}) })
		}),
	}
}

func newWebhookDeliveriesCmd(p *program) *cobra.Command {
	var q client.DeliveryQuery
	cmd := &cobra.Command{
		Use: "deliveries ID", Short: "List the messages to a webhook and their outcomes, newest first",
		Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl webhook deliveries wh_7f3a --state failed
  sbctl webhook deliveries wh_7f3a --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			page, err := c.WebhookDeliveries(cmd.Context(), args[0], q)
			if err != nil {
				return err
			}
			if page.NextBefore > 0 {
				p.infof("more: --before %d", page.NextBefore)
			}
			return p.print(page, func() *table { return deliveryTable(page.Deliveries) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.State, "state", "all", "deliveries in this state: pending, delivered, failed or all")
	flags.Int64Var(&q.Before, "before", 0, "only deliveries before this id")
	return cmd
}

func deliveryTable(all []client.WebhookDelivery) *table {
	t := newTable(">ID", "MESSAGE", "TYPE", "CREATED", "STATE", ">ATTEMPTS", "NEXT", "PROBLEM")
	for _, d := range all {
		next := "-"
		if d.NextAt != nil {
			next = d.NextAt.Format(time.RFC3339)
		}
		t.add(fmt.Sprint(d.ID), d.MessageID, d.Type, d.CreatedAt.Format(time.RFC3339), d.State,
			strconv.Itoa(d.Attempts), next, cmp.Or(d.Problem, "-"))
	}
	return t
}

func newWebhookRetryCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "retry ID DELIVERY", Short: "Send a message again now, whatever the outcome was",
		Args: exactArgs("ID", "DELIVERY"),
		Example: trimExamples(`
  sbctl webhook retry wh_7f3a 17
  sbctl webhook retry wh_7f3a 17 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("delivery", args[1])
			if err != nil {
				return err
			}
			d, err := c.RetryDelivery(cmd.Context(), args[0], id)
			if err != nil {
				return err
			}
			return p.print(d, func() *table { return deliveryTable([]client.WebhookDelivery{d}) })
		}),
	}
}

func newWebhookDeleteCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a webhook with its pending messages", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl webhook delete wh_7f3a
  sbctl webhook delete wh_7f3a --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if err := p.confirm(cmd.Context(),
				fmt.Sprintf("Delete webhook %s? Its pending messages will not be sent.", args[0])); err != nil {
				return err
			}
			if err := c.DeleteWebhook(cmd.Context(), args[0]); err != nil {
				return err
			}
			p.infof("webhook %s is deleted", args[0])
			return nil
		}),
	}
}
