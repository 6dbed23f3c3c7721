package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The types of webhooks. Creating, rotating and deleting one needs the scope
// score:admin, everything else score:operate.
type (
	// WebhookRequest describes a new webhook.
	WebhookRequest = wire.WebhookRequest
	// Webhook is an address that receives messages. Its Secret is returned only by
	// CreateWebhook and RotateWebhook.
	Webhook = wire.Webhook
	// WebhookDelivery is a message to one webhook.
	WebhookDelivery = wire.WebhookDelivery
	// WebhookDeliveries is a page of deliveries.
	WebhookDeliveries = wire.WebhookDeliveries
)

// DeliveryQuery selects deliveries of a webhook, newest first.
type DeliveryQuery struct {
	State  string // pending, delivered, failed or all; "" is all
	Before int64  // only those with a lower number; 0 is all
	Limit  int    // 1 to 500; 0 is 50
}

func webhookPath(id, what string) string {
	return "/v1/admin/webhooks/" + url.PathEscape(id) + what
}

// CreateWebhook creates a webhook. It never retries: a second try could create a second
// one.
func (c *Client) CreateWebhook(ctx context.Context, r WebhookRequest) (Webhook, error) {
	var w Webhook
	err := c.do(ctx, call{
		op: "create a webhook", method: http.MethodPost, path: "/v1/admin/webhooks", query: because(ctx),
		sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &w)
	return w, err
}

// Webhooks lists webhooks, without their secrets.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	var all wire.Webhooks
	err := c.do(ctx, call{op: "list the webhooks", method: http.MethodGet, path: "/v1/admin/webhooks"}, &all)
	return all.Webhooks, err
}

// RotateWebhook gives a webhook a new secret. Messages are signed with both for the
// overlap. It never retries: a second try could invalidate the secret in use.
func (c *Client) RotateWebhook(ctx context.Context, id string, overlap time.Duration) (Webhook, error) {
	var w Webhook
	err := c.do(ctx, call{
		op: "rotate webhook " + id, method: http.MethodPost, path: webhookPath(id, "/rotate"), query: because(ctx),
		sign: true, once: true,
		body: func(time.Time) any { return wire.RotateRequest{Overlap: overlap.String()} },
	}, &w)
	return w, err
}

// EnableWebhook lets a disabled webhook receive messages again, those that are pending
// first.
func (c *Client) EnableWebhook(ctx context.Context, id string) (Webhook, error) {
	var w Webhook
	err := c.do(ctx, call{
		op: "enable webhook " + id, method: http.MethodPost, path: webhookPath(id, "/enable"), query: because(ctx),
		sign: true,
	}, &w)
	return w, err
}

// DeleteWebhook deletes a webhook with its deliveries.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.do(ctx, call{
		op: "delete webhook " + id, method: http.MethodDelete, path: webhookPath(id, ""), query: because(ctx),
		sign: true,
	}, nil)
}

// TestWebhook queues a message of the type webhook.test.
func (c *Client) TestWebhook(ctx context.Context, id string) (WebhookDelivery, error) {
	var d WebhookDelivery
	err := c.do(ctx, call{
		op: "test webhook " + id, method: http.MethodPost, path: webhookPath(id, "/test"), query: because(ctx),
		sign: true, once: true,
	}, &d)
	return d, err
}

// WebhookDeliveries lists deliveries of a webhook, newest first.
func (c *Client) WebhookDeliveries(ctx context.Context, id string, q DeliveryQuery) (WebhookDeliveries, error) {
	query := url.Values{}
	setText(query, "state", q.State)
	setInt(query, "before", q.Before)
	setInt(query, "limit", int64(q.Limit))
	var page WebhookDeliveries
	err := c.do(ctx, call{
		op: "list the deliveries of webhook " + id, method: http.MethodGet, path: webhookPath(id, "/deliveries"),
		query: query,
	}, &page)
	return page, err
}

// RetryDelivery has a delivery attempted again at once, whatever its state.
func (c *Client) RetryDelivery(ctx context.Context, id string, delivery int64) (WebhookDelivery, error) {
	var d WebhookDelivery
	err := c.do(ctx, call{
		op: "retry a delivery of webhook " + id, method: http.MethodPost,
		path:  webhookPath(id, "/deliveries/"+strconv.FormatInt(delivery, 10)+"/retry"),
		query: because(ctx), sign: true,
	}, &d)
	return d, err
}
