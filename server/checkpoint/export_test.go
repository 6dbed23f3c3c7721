package checkpoint

import "context"

// Once does what Run does at each interval.
func (w *Worker) Once(ctx context.Context) error { return w.run(ctx) }
