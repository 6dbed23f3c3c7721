package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/scoreboard/scoreboard/loadgen"
)

// benchMost has the generator look for the highest rate that is held for two
// minutes, in each mode, and says where the CPU time goes at that rate.
func benchMost(ctx context.Context) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil {
		return err
	}
	for _, c := range []struct {
		mode  loadgen.Mode
		first int
		args  []string
	}{
		{loadgen.Sync, 4000, nil},
		{loadgen.Async, 4000, nil},
		{loadgen.Batch, 10_000, []string{"--batch", "500"}},
	} {
		out := filepath.Join("out", "most-"+string(c.mode))
		args := append([]string{
			"load", "run", "--ops", r.ops, "--mode", string(c.mode), "--users", strconv.Itoa(users),
		}, c.args...)
		fmt.Printf("\n### %s\n\n", c.mode)
		_, code, err := r.sbctl(ctx, append(args, "--find-max", "--rate", strconv.Itoa(c.first), "--duration", "2m", "--out", out)...)
		if err != nil {
			return err
		}
		if code != 0 {
			continue // nothing was held, which it has said
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
	}
	return r.check(ctx)
}
