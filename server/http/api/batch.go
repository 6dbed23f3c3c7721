package api

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxBatchBody bounds the body of a batch.
const maxBatchBody = 1 << 20

// batches records increments in batches.
type batches struct {
	submitter   Submitter
	admission   *admission
	signatures  *signatures
	tokenChecks *tokenChecks
	updates     Rate
	policy      *atomic.Pointer[Policy]
	failures    *failures
	subscores   subscoreBoards
}

// batch is POST /v1/scores/increments: a result for each item, in their order.
// The request is signed as a whole, by the header scheme.
func (h *batches) batch(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxBatchBody)
	if err != nil {
		return err
	}
	var by signer
	switch signature := c.GetHeader(wire.HeaderSignature); {
	case signature != "":
		if by, err = h.signatures.checkHeaderSignature(c, signature, body); err != nil {
			return err
		}
	case !h.policy.Load().SignatureOptional:
		return auth.ErrSignature()
	}
	b, err := protocol.DecodeBatch(body)
	if err != nil {
		return err
	}
	came := time.Now()
	results := make([]wire.BatchResult, len(b.Items))
	valid := make([]scoreboard.Increment, 0, len(b.Items))
	index := make([]int, 0, len(b.Items)) // of valid[n] in the batch
	charges := make([]keyCharge, 0, len(b.Items))
	for i := range b.Items {
		cmd, charge, err := h.batchItem(c, &b.Items[i], i > 0, by, caller, came)
		if err != nil {
			results[i] = h.rejectedItem(c, cmd.Event, err)
			continue
		}
		h.admission.setOrigin(c, &cmd.Increment, scoreboard.SourceBatch, by.keyID)
		valid, index, charges = append(valid, cmd.Increment), append(index, i), append(charges, charge)
	}
	for n, o := range h.submitter.SubmitAll(c.Request.Context(), valid) {
		i := index[n]
		charges[n].settle(o.Receipts, o.Err)
		if o.Err != nil {
			results[i] = h.rejectedItem(c, valid[n].Event, o.Err)
			continue
		}
		results[i] = wire.BatchResult{Status: wire.StatusDone}
		if b.Items[i].Boards == nil && len(o.Receipts) > 0 {
			receipt := h.subscores.matchedJSON(c.Request.Context(), o.Receipts)
			results[i].Receipt = &receipt
			continue
		}
		for j := range o.Receipts {
			receipt := h.subscores.receiptJSON(c.Request.Context(), &o.Receipts[j])
			results[i].Receipts = append(results[i].Receipts, receipt)
		}
	}
	respond(c, http.StatusOK, wire.BatchResults{Results: results})
	return nil
}

// batchItem parses and checks one item. Each item counts against the limit like a
// request of its own; the first is charged by the route (charge is false). An item
// over the limit is rejected alone: a batch larger than the limit could otherwise
// never succeed.
func (h *batches) batchItem(
	c *gin.Context, r *wire.IncrementRequest, charge bool, by signer, caller *auth.Claims, came time.Time,
) (cmd *command, charged keyCharge, err error) {
	cmd, err = parseCommand(r, caller)
	ctx := c.Request.Context()
	if charge {
		if limited := h.updates.take(ctx, caller); limited != nil {
			return cmd, charged, limited
		}
	}
	if err == nil {
		err = h.admission.authorize(ctx, cmd, caller, came)
	}
	if err == nil {
		err = by.restrict(&cmd.Increment)
	}
	if err == nil {
		err = h.tokenChecks.checkRequired(c, cmd)
	}
	if err == nil {
		charged, err = h.signatures.chargeKey(ctx, by)
	}
	return cmd, charged, err
}

// rejectedItem is the result of a rejected item.
func (h *batches) rejectedItem(c *gin.Context, event scoreboard.EventID, err error) wire.BatchResult {
	e := h.failures.public(c, err)
	if event.Text != "" {
		e.EventID = event.Text
	}
	return wire.BatchResult{Status: wire.StatusRejected, Error: &e}
}
