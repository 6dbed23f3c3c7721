package client

import "time"

// Hurry shortens every wait, so that tests of outages take moments.
func (c *Client) Hurry() {
	c.pace = pace{
		retryBase: 10 * time.Millisecond, retryCap: 50 * time.Millisecond, retryAfterMax: 2 * time.Second,
		pollMin: 20 * time.Millisecond, pollMax: 40 * time.Millisecond,
		pollFor: 300 * time.Millisecond, pollForCap: time.Second,
		silence: 300 * time.Millisecond, byeMax: time.Second,
	}
}

// SetSilence sets how long a stream may say nothing.
func (c *Client) SetSilence(d time.Duration) { c.pace.silence = d }

// SetClock replaces the clock that timestamps are taken from.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Jitter is the backoff's arithmetic.
var Jitter = jitter
