package upkeep

import "context"

// Once does what Run does at each interval.
func (w *Checkpoints) Once(ctx context.Context) error { return w.run(ctx) }
