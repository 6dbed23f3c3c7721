package console

import (
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

// webhookChanges manage webhooks and their deliveries.
func webhookChanges() []*change {
	hook := field{Name: "webhook", Label: "Webhook", Kind: "hidden"}
	list := func(url.Values) string { return Root + "/webhooks" }
	page := func(v url.Values) string { return webhookHref(v.Get("webhook")) }
	plain := func(v url.Values) (request, error) {
		return request{ids: []string{v.Get("webhook")}, query: reasonQuery(v)}, nil
	}
	return []*change{
		{
			name:    "webhook-create",
			title:   "Create webhook",
			verb:    "Create webhook",
			section: "webhooks",
			action:  "webhook.create",
			intro:   "Sends signed messages to an address. The secret that signs them is shown once.",
			done:    "The webhook is created.",
			secret:  true,
			fields: []field{
				{Name: "url", Label: "Address", Kind: "text", Required: true, Hint: "https, or http on this machine"},
				{
					Name: "types", Label: "Types", Kind: "text", Required: true,
					Hint: "season.closed, user.flagged, rank.reached, user.tier.updated, league.moved and " +
						"reward.granted, separated by commas",
				},
				{
					Name: "boards", Label: "Boards", Kind: "text",
					Hint: "Separated by commas; all if empty. Required for rank.reached.",
				},
				{Name: "top", Label: "Rank to reach", Kind: "number", Hint: "1 to 100, for rank.reached."},
			},
			effect: func(v url.Values) string {
				return "Messages are sent to " + v.Get("url") + " from now on. Copy the secret from the next page: " +
					"it is not shown again."
			},
			command: func(v url.Values) []string {
				words := []string{"webhook", "create", "--url", v.Get("url")}
				for _, t := range splitList(v.Get("types")) {
					words = append(words, "--type", t)
				}
				for _, b := range splitList(v.Get("boards")) {
					words = append(words, "--board", b)
				}
				if v.Get("top") != "" {
					words = append(words, "--top", v.Get("top"))
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				body := wire.WebhookRequest{
					URL: v.Get("url"), Types: splitList(v.Get("types")), Boards: splitList(v.Get("boards")),
				}
				if v.Get("top") != "" {
					n, err := integer(v, "top", "The rank to reach")
					if err != nil {
						return request{}, err
					}
					body.Top = int(n)
				}
				return request{query: reasonQuery(v), body: body}, nil
			},
			back: list,
		},
		{
			name: "webhook-rotate", title: "Rotate the webhook’s secret", verb: "Rotate secret", section: "webhooks",
			action: "webhook.rotate", secret: true,
			intro: "Gives the webhook a new secret. Messages are signed with both for a while.",
			done:  "The webhook has a new secret.",
			fields: []field{
				hook,
				{Name: "overlap", Label: "Sign with both secrets for", Kind: "text", Value: "24h", Required: true},
			},
			effect: func(v url.Values) string {
				return "The webhook gets a new secret, shown once on the next page. For " + v.Get("overlap") +
					", messages are signed with the old secret too."
			},
			command: func(v url.Values) []string {
				return []string{"webhook", "rotate", v.Get("webhook"), "--overlap", v.Get("overlap")}
			},
			request: func(v url.Values) (request, error) {
				body := wire.RotateRequest{Overlap: v.Get("overlap")}
				return request{ids: []string{v.Get("webhook")}, query: reasonQuery(v), body: body}, nil
			},
			back: page,
		},
		{
			name: "webhook-enable", title: "Enable webhook", verb: "Enable webhook", section: "webhooks",
			action: "webhook.enable", intro: "Lets a disabled webhook receive messages again.",
			done: "The webhook is enabled.", fields: []field{hook},
			effect: func(url.Values) string { return "Pending messages are sent first, then new ones." },
			command: func(v url.Values) []string {
				return []string{"webhook", "enable", v.Get("webhook")}
			},
			request: plain, back: page,
		},
		{
			name: "webhook-test", title: "Send test message", verb: "Send message", section: "webhooks",
			action: "webhook.test", intro: "Sends a message of the type webhook.test.",
			done: "The message is queued.", fields: []field{hook},
			effect: func(url.Values) string {
				return "One signed message without data is sent. Its outcome is in the list of deliveries."
			},
			command: func(v url.Values) []string { return []string{"webhook", "test", v.Get("webhook")} },
			request: plain, back: page,
		},
		{
			name: "webhook-retry", title: "Send message again", verb: "Send again", section: "webhooks",
			action: "webhook.retry", intro: "Sends a message again, whatever its outcome was.",
			done:   "The message is queued.",
			fields: []field{hook, {Name: "delivery", Label: "Delivery", Kind: "hidden"}},
			effect: func(v url.Values) string {
				return "The message is sent with the same id, so a receiver that has processed it can ignore it."
			},
			command: func(v url.Values) []string {
				return []string{"webhook", "retry", v.Get("webhook"), v.Get("delivery")}
			},
			request: func(v url.Values) (request, error) {
				n, err := integer(v, "delivery", "The delivery")
				if err != nil {
					return request{}, err
				}
				return request{ids: []string{v.Get("webhook"), strconv.FormatInt(n, 10)}, query: reasonQuery(v)}, nil
			},
			back: page,
		},
		{
			name: "webhook-delete", title: "Delete webhook", verb: "Delete webhook", section: "webhooks", danger: true,
			action: "webhook.delete", intro: "Deletes the webhook. This cannot be undone.",
			done: "The webhook is deleted.", fields: []field{hook},
			effect: func(url.Values) string {
				return "It receives nothing more, and its pending messages are deleted. This cannot be undone."
			},
			command: func(v url.Values) []string { return []string{"webhook", "delete", v.Get("webhook")} },
			request: plain,
			back:    list,
		},
	}
}
