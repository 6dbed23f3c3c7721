// Package webhook sends messages about ended seasons, flagged users and reached ranks to
// addresses that operators register, as Standard Webhooks describes
// (https://www.standardwebhooks.com).
//
// Promise: each cause is sent to each webhook at least once, always with the same id and
// body, until the receiver answers 2xx, or ten attempts in about a day have failed. Seasons
// and flags enter the outbox in the transaction of their cause. Ranks are compared with
// the stored ones about once a second: a user that enters and leaves the top in between
// is not reported.
//
// Assumption: receivers ignore an id that they have handled. They are reached at public
// addresses, or in the networks of the setting webhooks.networks.
//
// Owner: Worker.Run. One process works at a time, under a lease. A second one would send
// nothing twice: deliveries are claimed, and a comparison that another process has stored
// meanwhile is discarded.
//
// On failure: a webhook that does not accept a message waits, longer after each failure,
// and delays no other webhook. One that answers 410, or has too many pending deliveries,
// is disabled.
package webhook
