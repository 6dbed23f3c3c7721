package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxBatchBody bounds the body of a batch.
const maxBatchBody = 1 << 20

// batch is POST /v1/scores/increments: a result for each item, in their order.
// The request is signed as a whole, by the header scheme.
func (a *API) batch(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxBatchBody)
	if err != nil {
		return err
	}
	var by signer
	switch signature := c.GetHeader(wire.HeaderSignature); {
	case signature != "":
		if by, err = a.checkHeaderSignature(c, signature, body); err != nil {
			return err
		}
	case !a.currentPolicy().SignatureOptional:
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
		cmd, charge, err := a.batchItem(c, &b.Items[i], i > 0, by, caller, came)
		if err != nil {
			results[i] = a.rejectedItem(c, cmd.Event, err)
			continue
		}
		a.setOrigin(c, &cmd.Increment, scoreboard.SourceBatch, by.keyID)
		valid, index, charges = append(valid, cmd.Increment), append(index, i), append(charges, charge)
	}
	for n, o := range a.Submitter.SubmitAll(c.Request.Context(), valid) {
		i := index[n]
		charges[n].settle(o.Receipts, o.Err)
		if o.Err != nil {
			results[i] = a.rejectedItem(c, valid[n].Event, o.Err)
			continue
		}
		results[i] = wire.BatchResult{Status: wire.StatusDone}
		if b.Items[i].Boards == nil && len(o.Receipts) > 0 {
			receipt := matchedJSON(o.Receipts)
			results[i].Receipt = &receipt
			continue
		}
		for j := range o.Receipts {
			results[i].Receipts = append(results[i].Receipts, receiptJSON(&o.Receipts[j]))
		}
	}
	respond(c, http.StatusOK, wire.BatchResults{Results: results})
	return nil
}

// batchItem parses and checks one item. Each item counts against the limit like a
// request of its own; the first is charged by the route (charge is false). An item
// over the limit is rejected alone: a batch larger than the limit could otherwise
// never succeed.
func (a *API) batchItem(
	c *gin.Context, r *wire.IncrementRequest, charge bool, by signer, caller *auth.Claims, came time.Time,
) (cmd *command, charged keyCharge, err error) {
	cmd, err = parseCommand(r, caller)
	ctx := c.Request.Context()
	if charge {
		if limited := a.Limits.Updates.take(ctx, caller); limited != nil {
			return cmd, charged, limited
		}
	}
	if err == nil {
		err = a.authorize(ctx, cmd, caller, came)
	}
	if err == nil {
		err = by.restrict(&cmd.Increment)
	}
	if err == nil {
		err = a.checkProofs(c, cmd)
	}
	if err == nil {
		charged, err = a.chargeKey(ctx, by)
	}
	return cmd, charged, err
}

// rejectedItem is the result of a rejected item.
func (a *API) rejectedItem(c *gin.Context, event scoreboard.EventID, err error) wire.BatchResult {
	e := a.public(c, err)
	if event.Text != "" {
		e.EventID = event.Text
	}
	return wire.BatchResult{Status: wire.StatusRejected, Error: &e}
}
