package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Archive moves old partitions of the ledger to files.
type Archive interface {
	Archive(ctx context.Context, dry bool) (*protocol.Archived, error)
}

// archiveHeartbeat is the interval of progress lines, which keep the connection alive.
const archiveHeartbeat = time.Second

// archiveLedger is POST /v1/admin/ledger/archive: it archives now instead of within
// the hour. A client that disconnects interrupts it; archived partitions stay
// archived.
func (a *API) archiveLedger(c *gin.Context, caller *auth.Claims) error {
	var r protocol.ArchiveRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if a.Operations.Archive == nil {
		return scoreboard.Errorf(scoreboard.CodeConflict,
			"this node cannot archive: ledger.archive is empty, or the node lacks the role maintenance")
	}
	var why *scoreboard.AuditEntry
	if !r.DryRun {
		why = auditEntry(c, caller, "ledger:*")
	}
	job := a.newJob(c, caller, "ledger:*")
	job.DryRun = r.DryRun
	return a.runJob(c, job, why, func(ctx context.Context, w *jobWriter) (protocol.JobLine, error) {
		var result protocol.JobLine
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			result.Archived, err = a.Operations.Archive.Archive(ctx, r.DryRun)
		}()
		ticker := time.NewTicker(archiveHeartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				w.progress(protocol.JobLine{})
			case <-ended:
				return result, err
			}
		}
	})
}
