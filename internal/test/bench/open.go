package main

import "context"

// Open sends signed increments at fixed rates with sbctl load run, whose latency
// runs from the scheduled time.
func Open(ctx context.Context, o Options) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	r.println("| target/s | achieved/s | p50 ms | p95 ms | p99 ms | errors | daemon MiB |")
	r.println("|---|---|---|---|---|---|---|")
	for _, rate := range r.openRates {
		report, err := r.load(ctx, rate, r.timed)
		if err != nil {
			return err
		}
		r.printf("| %d | %.0f | %.1f | %.1f | %.1f | %d | %d |\n", rate, report.Rate, report.Latency.P50,
			report.Latency.P95, report.Latency.P99, errorCount(report), residentOf(r.daemon.Process.Pid))
		if _, err := r.drain(ctx); err != nil {
			return err
		}
	}
	return r.check(ctx)
}
