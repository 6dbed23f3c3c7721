package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// MaxRate searches for the highest rate that is sustained for two minutes, in each
// mode, and reports the CPU time of each process at that rate. Each search has an
// installation of its own, so that one does not slow down the next.
func MaxRate(ctx context.Context, o Options) error {
	for _, s := range []struct {
		mode  plan.Mode
		first int
		args  []string
	}{
		{plan.Sync, 4000, nil},
		{plan.Async, 4000, nil},
		{plan.Batch, 10_000, []string{"--batch", "500"}},
	} {
		if o.Quick && s.mode != plan.Batch {
			continue
		}
		o.printf("\n### %s\n\n", s.mode)
		if err := maxRate(ctx, o, s.mode, s.first, s.args); err != nil {
			return err
		}
	}
	return nil
}

func maxRate(ctx context.Context, o Options, mode plan.Mode, first int, args []string) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	args = append([]string{
		"load", "run", "--ops", r.ops, "--mode", string(mode), "--users", strconv.Itoa(users),
	}, args...)
	rate, repeat := 500, time.Second // without a search, which takes minutes
	if !r.Quick {
		repeat = 30 * time.Second
		out := filepath.Join("out", "max-rate-"+string(mode))
		find := append(args[:len(args):len(args)],
			"--find-max", "--rate", strconv.Itoa(first), "--duration", r.maxRate.String(), "--out", out)
		if _, code, err := r.sbctl(
			ctx,
			find...); err != nil ||
			code != 0 { // no rate was sustained, as sbctl has printed
			return err
		}
		report, err := readReport(out)
		if err != nil {
			return err
		}
		rate = int(report.Rate)
		if _, err := r.drain(ctx); err != nil {
			return err
		}
	}
	// Repeat the load at that rate to measure its CPU time alone.
	u := r.startUsage()
	generator, _, err := r.sbctl(ctx, append(args[:len(args):len(args)], "--rate", strconv.Itoa(rate),
		"--duration", repeat.String(), "--quiet", "--out", filepath.Join(r.dir, "again"))...)
	if err != nil {
		return err
	}
	u.print(r, generator, float64(rate)*repeat.Seconds())
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	return r.check(ctx)
}
