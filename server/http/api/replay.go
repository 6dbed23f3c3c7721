package api

import (
	"cmp"
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// replay is POST /v1/admin/replay.
func (h *rankingJobs) replay(c *gin.Context, caller *auth.Claims) error {
	var r wire.ReplayRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if err := checkReplay(&r, h.now()); err != nil {
		return err
	}
	var why *scoreboard.AuditEntry
	if !r.DryRun {
		if err := h.checkNotHalted(c); err != nil {
			return err
		}
		why = auditEntry(c, caller, "ranking:"+cmp.Or(r.Topic, "*"))
	}
	job := h.runner.newJob(c, caller, "ranking:"+cmp.Or(r.Topic, "*"))
	job.DryRun = r.DryRun
	return h.runner.runJob(c, job, why, func(ctx context.Context, w *jobWriter) (wire.JobLine, error) {
		done, err := h.jobs.Replay(ctx, &r, func(records, total int64) {
			w.progress(wire.JobLine{Records: records, Total: total})
		})
		return wire.JobLine{Replayed: done}, err
	})
}

func checkReplay(r *wire.ReplayRequest, now time.Time) error {
	sources := 0
	for _, given := range []bool{r.FromOffset != nil, r.FromTime != nil, r.DLQ} {
		if given {
			sources++
		}
	}
	switch {
	case sources != 1:
		return scoreboard.Invalid("", "specify exactly one of from_offset, from_time and dlq")
	case r.FromOffset != nil && r.Partition == nil:
		return scoreboard.Invalid("partition", "from_offset requires partition")
	case r.FromOffset != nil && *r.FromOffset < 0:
		return scoreboard.Invalid("from_offset", "from_offset must not be negative")
	case r.Partition != nil && *r.Partition < 0:
		return scoreboard.Invalid("partition", "partition must not be negative")
	case r.FromTime != nil && r.FromTime.After(now):
		return scoreboard.Invalid("from_time", "from_time %s is in the future", r.FromTime.UTC().Format(time.RFC3339))
	}
	return nil
}
