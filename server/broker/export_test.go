package broker

import "time"

// Watch sets how often the guard looks.
func (c *Consumer) Watch(every time.Duration) *Consumer {
	c.watch = every
	return c
}
