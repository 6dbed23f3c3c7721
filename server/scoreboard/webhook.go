package scoreboard

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"
)

// WebhookType is what a webhook reports.
type WebhookType string

// The types.
const (
	WebhookSeasonClosed  WebhookType = "season.closed"     // a period has ended with final standings
	WebhookUserFlagged   WebhookType = "user.flagged"      // a user's events look suspicious
	WebhookRankReached   WebhookType = "rank.reached"      // a user has entered the top of a board
	WebhookTierUpdated   WebhookType = "user.tier.updated" // a user's own event has moved the user to another tier
	WebhookLeagueMoved   WebhookType = "league.moved"      // players of a league have moved to another division
	WebhookRewardGranted WebhookType = "reward.granted"    // a user can claim a reward
	WebhookTest          WebhookType = "webhook.test"      // an operator tries the webhook; never subscribed to
)

// WebhookTypes are the types that a webhook can subscribe to.
var WebhookTypes = []WebhookType{
	WebhookSeasonClosed, WebhookUserFlagged, WebhookRankReached, WebhookTierUpdated,
	WebhookLeagueMoved, WebhookRewardGranted,
}

// Webhook is an address that receives messages as HTTP requests, without its secrets.
type Webhook struct {
	ID       string
	URL      string
	Types    []WebhookType
	Boards   []BoardID // families and boards without periods; nil: all
	Top      int       // the rank to reach, for WebhookRankReached; else 0
	Created  time.Time
	Disabled time.Time // zero: enabled
	Reason   string    // why it is disabled
	// Generation counts the webhook's secrets. Messages are signed with the previous one
	// too until Retires, which is zero if that has passed or there is none.
	Generation int
	Retires    time.Time
}

// Subscribes reports whether a webhook is for a type of message.
func (w *Webhook) Subscribes(t WebhookType) bool { return slices.Contains(w.Types, t) }

// Wants reports whether a webhook subscribes to a type of message about a board.
func (w *Webhook) Wants(t WebhookType, board BoardID) bool {
	return w.Subscribes(t) && (w.Boards == nil || slices.Contains(w.Boards, board.Family()))
}

// WebhookMessage is a cause in the outbox, which no delivery exists for yet.
type WebhookMessage struct {
	ID       int64
	Type     WebhookType
	Board    BoardID // the instance
	Flag     int64   // of WebhookUserFlagged, else 0
	Occurred time.Time
}

// WebhookDelivery is a message to one webhook.
type WebhookDelivery struct {
	ID       int64
	Webhook  string
	Message  string // id, the same for all webhooks and attempts
	Type     WebhookType
	Payload  string // JSON, as it is signed and sent
	State    string // pending, delivered or failed
	Attempts int
	Created  time.Time
	Next     time.Time // of the next attempt, while it is pending
	Ended    time.Time // zero while it is pending
	Status   int       // of the last response; 0 without one
	Problem  string    // of the last attempt; "" without one
}

// WebhookTop has the users in the top of a board when it was last compared.
type WebhookTop struct {
	Users    []UserID
	Compared int64 // counts the comparisons that found a change
}

// WebhookUserMessage is a message about a user: its id, its payload in JSON, and the webhooks that want it, unless
// there is one for all.
type WebhookUserMessage struct {
	ID, Payload string
	User        UserID // whom it names
	Webhooks    []string
}

// MaxWebhookPending is the number of pending deliveries with which a webhook is disabled.
const MaxWebhookPending = 10_000

// WebhookBacklog is the pending deliveries of a webhook.
type WebhookBacklog struct {
	Pending int
	Oldest  time.Duration // since it was queued
}

// NewWebhookMessageID returns a random id of a message.
func NewWebhookMessageID() string { return "msg_" + strings.ToLower(rand.Text()) }
