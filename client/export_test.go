package client

import "time"

// ShortenTimeouts shortens all waits, so that tests of outages are fast.
func (c *Client) ShortenTimeouts() {
	c.timeouts = timeouts{
		retryBase: 10 * time.Millisecond, retryCap: 50 * time.Millisecond, retryAfterMax: 2 * time.Second,
		queued: 30 * time.Second, lookupMin: 20 * time.Millisecond, lookupMax: 40 * time.Millisecond,
		pollMin: 20 * time.Millisecond, pollMax: 40 * time.Millisecond,
		pollFor: 300 * time.Millisecond, pollForCap: time.Second,
		maxSilence: 300 * time.Millisecond, maxReconnectAfter: time.Second, acceptLower: 200 * time.Millisecond,
	}
}

// SetSilence sets how long a stream may be silent before it counts as dead.
func (c *Client) SetSilence(d time.Duration) { c.timeouts.maxSilence = d }

// SetClock replaces the clock.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Jitter is the jitter of the backoff.
var Jitter = jitter
