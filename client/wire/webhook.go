package wire

import (
	"encoding/json"
	"time"
)

// WebhookMessage is the body of a request to a webhook.
type WebhookMessage struct {
	// Type of the message: season.closed, user.flagged, rank.reached, user.tier.updated, league.moved,
	// reward.granted or webhook.test.
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // of the cause
	Data      json.RawMessage `json:"data"`
}

// RankReached is the data of rank.reached: a user has entered the top of a board.
type RankReached struct {
	Board  string `json:"board"` // the instance
	Family string `json:"family"`
	Top    int    `json:"top"` // the rank that the webhook watches
	Entry
}

// TierUpdated is the data of user.tier.updated: a user's own event has moved the user to another
// tier of a board.
type TierUpdated struct {
	Board        string `json:"board"` // the instance
	Family       string `json:"family"`
	Tier         string `json:"tier,omitempty"`          // that the event led to; absent for none
	PreviousTier string `json:"previous_tier,omitempty"` // without the event; absent for none
	Entry
}

// LeagueMoved is the data of league.moved: players whom the end of a period has moved to another division, at
// most 100 in a message.
type LeagueMoved struct {
	Board  string       `json:"board"`  // the period that has ended
	Family string       `json:"family"` // the league
	Moves  []LeagueMove `json:"moves"`  // the players
}

// LeagueMove is a player who has moved.
type LeagueMove struct {
	UserID  string `json:"user_id"`
	Rank    int64  `json:"rank,omitempty"` // final rank in the cohort; absent for a player without a submission
	Players int64  `json:"players"`        // number of ranked players of the cohort
	From    int    `json:"from_division"`  // the division before
	To      int    `json:"to_division"`    // the division from now on
}

// RewardGranted is the data of reward.granted: a user has won a reward in a period, and can claim it.
type RewardGranted struct {
	ID     int64           `json:"id"`             // id of the reward; give it out once for each id
	Board  string          `json:"board"`          // the period that it was won in
	Family string          `json:"family"`         // the board of the period
	UserID string          `json:"user_id"`        // the winner, or the pseudonym of a user who hides
	Rank   int64           `json:"rank,omitempty"` // rank in the final standings; absent if an operator granted it
	Reward json.RawMessage `json:"reward"`         // what the table of the board says, as it was given
	// Revision of the final standings that it follows from; absent if an operator granted it.
	Revision  int       `json:"revision,omitempty"`
	ExpiresAt time.Time `json:"expires_at"` // time at which it can no longer be claimed
}

// Webhook is an address that receives messages. Secret is in the response that creates or
// rotates it only.
type Webhook struct {
	WebhookID  string     `json:"webhook_id"`                // id of the webhook, such as wh_7f3a9c2e5b1d
	URL        string     `json:"url"`                       // address that receives the messages
	Types      []string   `json:"types"`                     // types of the messages
	Boards     []string   `json:"boards,omitempty"`          // boards that it watches; absent for all
	Top        int        `json:"top,omitempty"`             // rank to reach, for rank.reached
	Secret     string     `json:"secret,omitempty"`          // secret that signs; shown only once
	CreatedAt  time.Time  `json:"created_at"`                // time of its creation
	DisabledAt *time.Time `json:"disabled_at,omitempty"`     // time at which it was disabled
	Reason     string     `json:"disabled_reason,omitempty"` // reason for which it was disabled
	Generation int        `json:"generation"`                // number of its secrets so far
	// Time until which messages are also signed with the previous secret.
	RetiresAt *time.Time `json:"retires_at,omitempty"`
	Pending   int        `json:"pending"` // deliveries that wait for their next attempt, at most 10000
	// Age of the oldest pending delivery, in seconds.
	PendingSeconds int64 `json:"pending_seconds"`
}

// Webhooks is the response of GET /v1/admin/webhooks, oldest first.
type Webhooks struct {
	Webhooks []Webhook `json:"webhooks"` // the webhooks, oldest first
}

// WebhookRequest is the body of POST /v1/admin/webhooks.
type WebhookRequest struct {
	URL string `json:"url"` // address that receives the messages: https, or http on this machine
	// Types of the messages: season.closed, user.flagged, rank.reached, user.tier.updated, league.moved or
	// reward.granted.
	Types  []string `json:"types"`
	Boards []string `json:"boards,omitempty"` // boards to watch; absent for all; required for rank.reached
	Top    int      `json:"top,omitempty"`    // rank to reach, 1 to 100; for rank.reached
}

// WebhookDelivery is a message to one webhook.
type WebhookDelivery struct {
	ID        int64           `json:"id"`                 // number of the delivery
	MessageID string          `json:"message_id"`         // value of the header webhook-id
	Type      string          `json:"type"`               // type of the message
	Payload   json.RawMessage `json:"payload"`            // the body of the request
	State     string          `json:"state"`              // pending, delivered or failed
	Attempts  int             `json:"attempts"`           // number of attempts so far
	CreatedAt time.Time       `json:"created_at"`         // time at which it was queued
	NextAt    *time.Time      `json:"next_at,omitempty"`  // time of the next attempt
	EndedAt   *time.Time      `json:"ended_at,omitempty"` // time of the last attempt
	Status    int             `json:"status,omitempty"`   // status of the last response; absent without one
	Problem   string          `json:"problem,omitempty"`  // why the last attempt failed
}

// WebhookDeliveries is the response of GET /v1/admin/webhooks/{webhook_id}/deliveries,
// newest first. NextBefore is the value of before for the next page.
type WebhookDeliveries struct {
	Deliveries []WebhookDelivery `json:"deliveries"` // the deliveries, newest first
	// Number of the last delivery of the page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}
