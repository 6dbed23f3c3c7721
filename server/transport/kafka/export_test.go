package kafka

import "time"

// CheckEvery sets the interval of the stall detector.
func (c *Consumer) CheckEvery(interval time.Duration) *Consumer {
	c.checkEvery = interval
	return c
}
