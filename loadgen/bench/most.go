package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// search is what is looked for: the highest rate of one mode, from first on.
type search struct {
	mode  plan.Mode
	first int
	args  []string
}

// benchMost has the generator look for the highest rate that is held for two
// minutes, in each mode, and says where the CPU time goes at that rate. Each
// search has an installation of its own, so that what one leaves cannot slow
// the next.
func benchMost(ctx context.Context) error {
	for _, s := range []search{
		{plan.Sync, 4000, nil},
		{plan.Async, 4000, nil},
		{plan.Batch, 10_000, []string{"--batch", "500"}},
	} {
		fmt.Printf("\n### %s\n\n", s.mode)
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s search) run(ctx context.Context) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil {
		return err
	}
	out := filepath.Join("out", "most-"+string(s.mode))
	args := append([]string{"load", "run", "--ops", r.ops, "--mode", string(s.mode), "--users", strconv.Itoa(users)}, s.args...)
	_, code, err := r.sbctl(ctx, append(args, "--find-max", "--rate", strconv.Itoa(s.first), "--duration", "2m", "--out", out)...)
	if err != nil || code != 0 { // 3: nothing was held, which it has said
		return err
	}
	b, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		return err
	}
	var held loadgen.Report
	if err := json.Unmarshal(b, &held); err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	// Once more at that rate, so that the time is of the load alone.
	m := r.measure()
	rate := int(held.Rate)
	generator, _, err := r.sbctl(ctx, append(args, "--rate", strconv.Itoa(rate), "--duration", "30s", "--quiet", "--out", filepath.Join(r.dir, "again"))...)
	if err != nil {
		return err
	}
	m.print(r, generator, float64(rate)*30)
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	return r.check(ctx)
}
