package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

func webhookHref(id string) string { return Root + "/webhooks/" + url.PathEscape(id) }

var webhookList = &list[wire.Webhook]{
	name: "webhooks", path: Root + "/webhooks", cursor: "cursor",
	empty: "No webhook. Create one to send messages about seasons, flags and ranks to another system.",
	columns: []column[wire.Webhook]{
		{"webhook_id", "Webhook", func(w wire.Webhook) cell { return to(webhookHref(w.WebhookID), w.WebhookID) }},
		{"state", "State", func(w wire.Webhook) cell { return badge(webhookState(&w)) }},
		{"url", "Address", func(w wire.Webhook) cell { return text(w.URL) }},
		{"types", "Types", func(w wire.Webhook) cell { return text(strings.Join(w.Types, ", ")) }},
		{"boards", "Boards", func(w wire.Webhook) cell { return text(webhookBoards(&w)) }},
		{"pending", "Pending", func(w wire.Webhook) cell { return number(int64(w.Pending)) }},
		{"created_at", "Created", func(w wire.Webhook) cell { return timeOf(w.CreatedAt) }},
	},
	fetch: func(k *call, _ url.Values) ([]wire.Webhook, string, error) {
		var out wire.Webhooks
		err := k.get("/v1/admin/webhooks", nil, &out)
		return out.Webhooks, "", err
	},
}

func webhookState(w *wire.Webhook) string {
	if w.DisabledAt != nil {
		return "disabled"
	}
	return "enabled"
}

func webhookBoards(w *wire.Webhook) string {
	if len(w.Boards) == 0 {
		return "all"
	}
	return strings.Join(w.Boards, ", ")
}

// deliveryList is the messages to a webhook.
func deliveryList(id string) *list[wire.WebhookDelivery] {
	return &list[wire.WebhookDelivery]{
		name: "deliveries", path: webhookHref(id), cursor: "before", empty: "No message matches.",
		filters: []filter{{Name: "state", Label: "State", Options: []string{"all", "pending", "delivered", "failed"}}},
		columns: []column[wire.WebhookDelivery]{
			{"id", "Delivery", func(d wire.WebhookDelivery) cell { return reference("", d.ID) }},
			{"state", "State", func(d wire.WebhookDelivery) cell { return badge(d.State) }},
			{"type", "Type", func(d wire.WebhookDelivery) cell { return text(d.Type) }},
			{"message_id", "Message", func(d wire.WebhookDelivery) cell { return code(d.MessageID) }},
			{"attempts", "Attempts", func(d wire.WebhookDelivery) cell { return number(int64(d.Attempts)) }},
			{"status", "Response", func(d wire.WebhookDelivery) cell { return text(responseStatus(d.Status)) }},
			{"created_at", "Queued", func(d wire.WebhookDelivery) cell { return timeOf(d.CreatedAt) }},
			{"next_at", "Next attempt", func(d wire.WebhookDelivery) cell { return timeOrNone(d.NextAt) }},
			{"problem", "Problem", func(d wire.WebhookDelivery) cell { return text(d.Problem) }},
		},
		fetch: func(k *call, q url.Values) ([]wire.WebhookDelivery, string, error) {
			var out wire.WebhookDeliveries
			err := k.get("/v1/admin/webhooks/"+url.PathEscape(id)+"/deliveries", q, &out)
			return out.Deliveries, cursorOf(out.NextBefore), err
		},
	}
}

// responseStatus shows the status of a response; 0 is none.
func responseStatus(status int) string {
	if status == 0 {
		return "–"
	}
	return strconv.Itoa(status)
}

// webhooks lists the webhooks.
func (c *views) webhooks(w http.ResponseWriter, r *http.Request, s *session) error {
	return table(c, w, r, s, webhookList, "list", &view{
		Title: "Webhooks", Section: "webhooks", Actions: offer(s, changeLink("webhook-create", "Create webhook")),
	})
}

// webhookView is the page of a webhook.
type webhookView struct {
	Facts      []fact
	Deliveries *rowActions
}

// webhook shows a webhook and its deliveries.
func (c *views) webhook(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("webhook")
	k, deliveries := c.caller.as(r, s), deliveryList(id)
	if done, err := deliveries.export(k, w, r); done {
		return err
	}
	all, _, err := webhookList.fetch(k, nil) // the API has no page of one
	if err != nil {
		return err
	}
	var hook *wire.Webhook
	for i := range all {
		if all[i].WebhookID == id {
			hook = &all[i]
		}
	}
	if hook == nil {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "There is no such webhook.",
			Next: nextSteps["not_found"],
		}
	}
	t, err := deliveries.view(k, r)
	if err != nil {
		return err
	}
	d := &webhookView{Facts: webhookFacts(hook), Deliveries: &rowActions{Table: t}}
	for _, row := range t.Rows {
		d.Deliveries.Actions = append(d.Deliveries.Actions,
			offer(s, changeLink("webhook-retry", "Send again", "webhook", id, "delivery", row[0].raw())))
	}
	var actions []link
	if hook.DisabledAt != nil {
		actions = append(actions, changeLink("webhook-enable", "Enable", "webhook", id))
	} else {
		actions = append(actions, changeLink("webhook-test", "Send test message", "webhook", id))
	}
	actions = append(actions, changeLink("webhook-rotate", "Rotate secret", "webhook", id),
		changeLink("webhook-delete", "Delete", "webhook", id))
	return c.screen.show(w, r, s, "webhook", &view{
		Title: id, Section: "webhooks", Data: d, Actions: offer(s, actions...),
		Crumbs: []link{{Label: "Webhooks", Href: Root + "/webhooks"}},
	})
}

func webhookFacts(w *wire.Webhook) []fact {
	out := []fact{
		{"State", badge(webhookState(w))},
		{"Address", text(w.URL)},
		{"Types", text(strings.Join(w.Types, ", "))},
		{"Boards", text(webhookBoards(w))},
		{"Pending", number(int64(w.Pending))},
		{"Created", timeOf(w.CreatedAt)},
		{"Secrets so far", number(int64(w.Generation))},
	}
	if w.Top > 0 {
		out = append(out, fact{"Rank to reach", number(int64(w.Top))})
	}
	if w.Pending > 0 {
		out = append(out, fact{"Oldest pending", text(formatSeconds(w.PendingSeconds))})
	}
	if w.RetiresAt != nil {
		out = append(out, fact{"Signed with both secrets until", timeOf(*w.RetiresAt)})
	}
	if w.DisabledAt != nil {
		out = append(out, fact{"Disabled", timeOf(*w.DisabledAt)}, fact{"Reason", text(w.Reason)})
	}
	return out
}
