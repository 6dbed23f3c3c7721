package api

import (
	"cmp"
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// replay is POST /v1/admin/replay.
func (a *API) replay(c *gin.Context, who *auth.Claims) error {
	var r protocol.ReplayRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if err := checkReplay(&r, a.Now()); err != nil {
		return err
	}
	var why *scoreboard.AuditEntry
	if !r.DryRun {
		if err := a.steady(c); err != nil {
			return err
		}
		why = told(c, who, "ranking:"+cmp.Or(r.Topic, "*"))
	}
	return a.inTurn(c, why, func(ctx context.Context, l *lines) (protocol.JobLine, error) {
		done, err := a.Operate.Jobs.Replay(ctx, &r, func(records, total int64) {
			l.progress(protocol.JobLine{Records: records, Total: total})
		})
		return protocol.JobLine{Replayed: done}, err
	})
}

func checkReplay(r *protocol.ReplayRequest, now time.Time) error {
	ways := 0
	for _, asked := range []bool{r.FromOffset != nil, r.FromTime != nil, r.DLQ} {
		if asked {
			ways++
		}
	}
	switch {
	case ways != 1:
		return scoreboard.Invalid("", "say one of from_offset, from_time and dlq")
	case r.FromOffset != nil && r.Partition == nil:
		return scoreboard.Invalid("partition", "an offset is of one partition: name it")
	case r.FromOffset != nil && *r.FromOffset < 0:
		return scoreboard.Invalid("from_offset", "an offset is not negative")
	case r.Partition != nil && *r.Partition < 0:
		return scoreboard.Invalid("partition", "a partition is not negative")
	case r.FromTime != nil && r.FromTime.After(now):
		return scoreboard.Invalid("from_time", "%s is not over yet", r.FromTime.UTC().Format(time.RFC3339))
	}
	return nil
}
