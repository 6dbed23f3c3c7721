package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxBatchBody bounds the body of a batch.
const maxBatchBody = 1 << 20

// batch is POST /v1/scores/increments: a result for each item, in order. The
// request is signed as a whole, by the header scheme.
func (a *API) batch(c *gin.Context, who *auth.Claims) error {
	body, err := readBody(c, maxBatchBody)
	if err != nil {
		return err
	}
	var by signed
	switch given := c.GetHeader(protocol.HeaderSignature); {
	case given != "":
		if by, err = a.checkHeader(c, given, body); err != nil {
			return err
		}
	case !a.now().SignatureOptional:
		return auth.ErrSignature()
	}
	b, err := protocol.DecodeBatch(body)
	if err != nil {
		return err
	}
	results := make([]protocol.BatchResult, len(b.Items))
	valid := make([]scoreboard.Increment, 0, len(b.Items))
	index := make([]int, 0, len(b.Items))
	for i := range b.Items {
		// An item costs what a request does. The request has paid for its first.
		// What is over the limit is refused for itself: a batch that had to
		// fit as a whole might never.
		var err error
		if i > 0 {
			err = a.Limits.Updates.take(c.Request.Context(), who)
		}
		var in *scoreboard.Increment
		if err == nil {
			in, err = a.validate(c.Request.Context(), &b.Items[i], who)
		}
		if err == nil {
			err = a.checkScope(c.Request.Context(), by, in)
		}
		if err == nil {
			err = a.checkProofs(c, &b.Items[i], in)
		}
		if err != nil {
			results[i] = a.rejected(c, &b.Items[i], err)
			continue
		}
		a.note(c, in, scoreboard.SourceBatch, by.key)
		valid, index = append(valid, *in), append(index, i)
	}
	for n, o := range a.Submitter.SubmitAll(c.Request.Context(), valid) {
		i := index[n]
		if o.Err != nil {
			results[i] = a.rejected(c, &b.Items[i], o.Err)
			continue
		}
		results[i] = protocol.BatchResult{Status: protocol.StatusDone}
		for j := range o.Receipts {
			receipt := receiptJSON(&o.Receipts[j])
			if b.Items[i].Boards == nil {
				results[i].Receipt = &receipt
			} else {
				results[i].Receipts = append(results[i].Receipts, receipt)
			}
		}
	}
	respond(c, http.StatusOK, protocol.BatchResults{Results: results})
	return nil
}

// rejected is the result of an item that was refused.
func (a *API) rejected(c *gin.Context, r *protocol.IncrementRequest, err error) protocol.BatchResult {
	e := a.public(c, err)
	if _, idErr := scoreboard.ParseEventID("", r.EventID); idErr == nil {
		e.EventID = r.EventID
	}
	return protocol.BatchResult{Status: protocol.StatusRejected, Error: &e}
}
