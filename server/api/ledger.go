package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Archive moves old partitions of the ledger into files.
type Archive interface {
	Archive(ctx context.Context, dry bool) (*protocol.Archived, error)
}

// archiveBeat is between two signs of life of an archive in the making.
const archiveBeat = time.Second

// archiveLedger is POST /v1/admin/ledger/archive: now, instead of within the
// hour. Who goes away interrupts it; what is done stays done.
func (a *API) archiveLedger(c *gin.Context, who *auth.Claims) error {
	var r protocol.ArchiveRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if a.Operate.Archive == nil {
		return scoreboard.Errorf(scoreboard.CodeConflict, "this node has no archive: ledger.archive is empty, or it lacks the role maintenance")
	}
	var why *scoreboard.AuditEntry
	if !r.DryRun {
		why = told(c, who, "ledger:*")
	}
	return a.inTurn(c, why, func(ctx context.Context, l *lines) (protocol.JobLine, error) {
		var result protocol.JobLine
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			result.Archived, err = a.Operate.Archive.Archive(ctx, r.DryRun)
		}()
		beat := time.NewTicker(archiveBeat)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				l.progress(protocol.JobLine{})
			case <-ended:
				return result, err
			}
		}
	})
}
