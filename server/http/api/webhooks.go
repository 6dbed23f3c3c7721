package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Webhooks stores webhooks and their deliveries. A change and its audit entry are one
// transaction.
type Webhooks interface {
	Create(
		ctx context.Context, w *scoreboard.Webhook, encrypted []byte, why *scoreboard.AuditEntry,
	) (scoreboard.Webhook, error)
	List(ctx context.Context) ([]scoreboard.Webhook, error)
	Backlogs(ctx context.Context, limit int) (map[string]scoreboard.WebhookBacklog, error)
	Rotate(
		ctx context.Context, id string, encrypted []byte, overlap time.Duration, why *scoreboard.AuditEntry,
	) (scoreboard.Webhook, error)
	Enable(ctx context.Context, id string, why *scoreboard.AuditEntry) (scoreboard.Webhook, error)
	Delete(ctx context.Context, id string, why *scoreboard.AuditEntry) (scoreboard.Webhook, error)
	Test(
		ctx context.Context, id, message, payload string, why *scoreboard.AuditEntry,
	) (scoreboard.WebhookDelivery, error)
	Deliveries(
		ctx context.Context, id, state string, before int64, limit int,
	) ([]scoreboard.WebhookDelivery, error)
	Retry(
		ctx context.Context, id string, delivery int64, why *scoreboard.AuditEntry,
	) (scoreboard.WebhookDelivery, error)
}

// The bounds of a webhook.
const (
	maxWebhookURL    = 2048 // bytes
	maxWebhookBoards = 20   // each is compared about once a second for rank.reached

	defaultDeliveries, maxDeliveries = 50, 500
)

// newWebhookSecret returns 256 random bits, as Standard Webhooks writes secrets.
func newWebhookSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// webhooks shows and changes webhooks and their deliveries.
type webhooks struct {
	store    Webhooks
	boards   Boards
	keyring  *auth.Keyring
	networks publicnet.Networks // where webhooks may be
	now      clock
}

// createWebhook is POST /v1/admin/webhooks. Only here and after a rotation a secret is
// shown.
func (h *webhooks) createWebhook(c *gin.Context, caller *auth.Claims) error {
	var r wire.WebhookRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	w, err := newWebhook(&r)
	if err != nil {
		return err
	}
	if err := h.checkWebhookAddress(w.URL); err != nil {
		return err
	}
	for _, board := range w.Boards {
		if _, err := h.boards.FindBoard(c.Request.Context(), board); err != nil {
			return err
		}
	}
	w.ID = "wh_" + strings.ToLower(rand.Text()[:12])
	secret := newWebhookSecret()
	why := newAuditEntry(c, caller, "webhook:"+w.ID, c.Query(queryReason))
	stored := r
	stored.URL = maskedAddress(r.URL)
	why.Detail = auditDetail(stored)
	made, err := h.store.Create(c.Request.Context(), w, h.keyring.Encrypt(w.ID, secret), why)
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, webhookJSON(caller, &made, secret, scoreboard.WebhookBacklog{}))
	return nil
}

// checkWebhookAddress rejects a literal address that no message may be sent to. What a name
// resolves to is checked at each connection.
func (h *webhooks) checkWebhookAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return scoreboard.Invalid("url", "url must be a URL")
	}
	address, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // a name
	}
	if err := h.networks.Check(address); err != nil {
		return scoreboard.Invalid("url", "url: %v", err)
	}
	return nil
}

// newWebhook returns the webhook that a request describes, without an id.
func newWebhook(r *wire.WebhookRequest) (*scoreboard.Webhook, error) {
	if len(r.URL) > maxWebhookURL || !webhookURL.MatchString(r.URL) {
		return nil, scoreboard.Invalid("url", "url must be an https URL of at most %d bytes, without a password, a "+
			"fragment or %% escapes; http is for localhost only", maxWebhookURL)
	}
	w := &scoreboard.Webhook{URL: r.URL, Top: r.Top}
	for _, name := range r.Types {
		t := scoreboard.WebhookType(name)
		if !slices.Contains(scoreboard.WebhookTypes, t) || slices.Contains(w.Types, t) {
			return nil, scoreboard.Invalid("types",
				"types must be season.closed, user.flagged, rank.reached, user.tier.updated, league.moved or "+
					"reward.granted, each once")
		}
		w.Types = append(w.Types, t)
	}
	if len(w.Types) == 0 {
		return nil, scoreboard.Invalid("types", "types must not be empty")
	}
	if r.Boards != nil && len(r.Boards) == 0 { // not: all boards
		return nil, scoreboard.Invalid("boards", "boards must not be empty; without it the webhook is for all boards")
	}
	if len(r.Boards) > maxWebhookBoards {
		return nil, scoreboard.Invalid("boards", "boards must name at most %d boards", maxWebhookBoards)
	}
	for _, name := range r.Boards {
		board, err := scoreboard.ParseBoardID(name)
		if err != nil || board.IsInstance() || slices.Contains(w.Boards, board) {
			return nil, scoreboard.Invalid("boards", "boards must be names of boards, not of instances, each once")
		}
		w.Boards = append(w.Boards, board)
	}
	ranks := slices.Contains(w.Types, scoreboard.WebhookRankReached)
	switch {
	case ranks && w.Boards == nil:
		return nil, scoreboard.Invalid("boards", "rank.reached requires boards")
	case ranks && (w.Top < 1 || w.Top > scoreboard.TopSize):
		return nil, scoreboard.Invalid("top", "rank.reached requires top from 1 to %d", scoreboard.TopSize)
	case !ranks && w.Top != 0:
		return nil, scoreboard.Invalid("top", "top requires the type rank.reached")
	}
	return w, nil
}

// patternWebhookURL accepts https, and http to the local machine; no password, and no
// fragment.
const patternWebhookURL = `^(https://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])|` +
	`http://(localhost|127\.0\.0\.1|\[::1\]))(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~!$&'()*+,;=:@/?-]*)?$`

var webhookURL = regexp.MustCompile(patternWebhookURL)

// maskedAddress returns the address of a webhook without what follows the host: for many
// receivers the path is a secret.
func maskedAddress(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if host, path, _ := strings.Cut(rest, "/"); path != "" {
		return scheme + "://" + host + "/********"
	}
	return address
}

// webhookJSON returns a webhook as the API shows it: administrators see the whole address. The
// secret is "" but in the response that creates it.
func webhookJSON(
	caller *auth.Claims, w *scoreboard.Webhook, secret string, b scoreboard.WebhookBacklog,
) wire.Webhook {
	address := w.URL
	if !caller.Has(auth.ScopeAdmin) {
		address = maskedAddress(address)
	}
	out := wire.Webhook{
		WebhookID: w.ID, URL: address, Top: w.Top, Secret: secret, CreatedAt: w.Created,
		DisabledAt: timePtr(w.Disabled),
		Reason:     w.Reason, Generation: w.Generation, RetiresAt: timePtr(w.Retires),
		Pending: b.Pending, PendingSeconds: int64(b.Oldest.Seconds()),
	}
	for _, t := range w.Types {
		out.Types = append(out.Types, string(t))
	}
	for _, board := range w.Boards {
		out.Boards = append(out.Boards, string(board))
	}
	return out
}

// listWebhooks is GET /v1/admin/webhooks.
func (h *webhooks) listWebhooks(c *gin.Context, caller *auth.Claims) error {
	all, err := h.store.List(c.Request.Context())
	if err != nil {
		return err
	}
	backlogs, err := h.store.Backlogs(c.Request.Context(), scoreboard.MaxWebhookPending)
	if err != nil {
		return err
	}
	out := wire.Webhooks{Webhooks: make([]wire.Webhook, len(all))}
	for i := range all {
		out.Webhooks[i] = webhookJSON(caller, &all[i], "", backlogs[all[i].ID])
	}
	respond(c, http.StatusOK, out)
	return nil
}

// webhookID returns the id of the webhook in the path.
func webhookID(c *gin.Context) (string, error) { return pathName(c, "webhook_id", "webhook") }

// rotateWebhook is POST /v1/admin/webhooks/{webhook_id}/rotate: a new secret. Messages are
// signed with both for the overlap.
func (h *webhooks) rotateWebhook(c *gin.Context, caller *auth.Claims) error {
	id, overlap, err := rotation(c, webhookID)
	if err != nil {
		return err
	}
	secret := newWebhookSecret()
	why := auditEntry(c, caller, "webhook:"+id)
	w, err := h.store.Rotate(c.Request.Context(), id, h.keyring.Encrypt(id, secret), overlap, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, webhookJSON(caller, &w, secret, scoreboard.WebhookBacklog{}))
	return nil
}

// enableWebhook is POST /v1/admin/webhooks/{webhook_id}/enable.
func (h *webhooks) enableWebhook(c *gin.Context, caller *auth.Claims) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	w, err := h.store.Enable(c.Request.Context(), id, auditEntry(c, caller, "webhook:"+id))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, webhookJSON(caller, &w, "", scoreboard.WebhookBacklog{}))
	return nil
}

// deleteWebhook is DELETE /v1/admin/webhooks/{webhook_id}.
func (h *webhooks) deleteWebhook(c *gin.Context, caller *auth.Claims) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	w, err := h.store.Delete(c.Request.Context(), id, auditEntry(c, caller, "webhook:"+id))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, webhookJSON(caller, &w, "", scoreboard.WebhookBacklog{}))
	return nil
}

// testWebhook is POST /v1/admin/webhooks/{webhook_id}/test: it queues a message without
// data.
func (h *webhooks) testWebhook(c *gin.Context, caller *auth.Claims) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	payload := protocol.EncodeWebhook(scoreboard.WebhookTest, h.now(), json.RawMessage("{}"))
	why := auditEntry(c, caller, "webhook:"+id)
	d, err := h.store.Test(c.Request.Context(), id, scoreboard.NewWebhookMessageID(), payload, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusAccepted, deliveryJSON(&d))
	return nil
}

// listDeliveries is GET /v1/admin/webhooks/{webhook_id}/deliveries.
func (h *webhooks) listDeliveries(c *gin.Context, _ *auth.Claims) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultDeliveries, 1, maxDeliveries)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	state := cmp.Or(c.Query("state"), "all")
	switch state {
	case "all":
		state = ""
	case "pending", "delivered", "failed":
	default:
		return scoreboard.Invalid("state", "state must be pending, delivered, failed or all")
	}
	all, err := h.store.Deliveries(c.Request.Context(), id, state, before, limit)
	if err != nil {
		return err
	}
	out := wire.WebhookDeliveries{Deliveries: make([]wire.WebhookDelivery, len(all))}
	for i := range all {
		out.Deliveries[i] = deliveryJSON(&all[i])
	}
	if len(all) == limit {
		out.NextBefore = all[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

func deliveryJSON(d *scoreboard.WebhookDelivery) wire.WebhookDelivery {
	out := wire.WebhookDelivery{
		ID: d.ID, MessageID: d.Message, Type: string(d.Type), Payload: json.RawMessage(d.Payload), State: d.State,
		Attempts: d.Attempts, CreatedAt: d.Created, EndedAt: timePtr(d.Ended), Status: d.Status, Problem: d.Problem,
	}
	if d.Ended.IsZero() {
		out.NextAt = timePtr(d.Next)
	}
	return out
}

// retryDelivery is POST /v1/admin/webhooks/{webhook_id}/deliveries/{id}/retry.
func (h *webhooks) retryDelivery(c *gin.Context, caller *auth.Claims) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	delivery, err := pathID(c, "delivery")
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	d, err := h.store.Retry(c.Request.Context(), id, delivery, auditEntry(c, caller, "webhook:"+id))
	if err != nil {
		return err
	}
	respond(c, http.StatusAccepted, deliveryJSON(&d))
	return nil
}
