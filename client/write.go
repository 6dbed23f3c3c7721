package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Increment is one event to count.
type Increment struct {
	User  string
	Delta int64 // on best and latest boards the submitted score
	// EventID makes repeats count once; Submit generates one if it is empty.
	EventID string
	Board   string // global when empty
	// Action names what the user did, for boards with rules about it.
	Action string
	// ActionToken comes from StartAction, for boards that require one; it is valid for
	// one event. Attestation is signed by an authoritative game server.
	ActionToken string
	Attestation string
	// Attributes, such as region and platform, are what rules of boards compare. They need
	// an increment without Board.
	Attributes map[string]string
	// IfPeriod has it count only while this is the current period of a board that it names,
	// such as weekly:2026-w47; else the code is period_ended.
	IfPeriod string
	// Metadata is a JSON object of at most 1 KiB, for boards that keep it.
	Metadata json.RawMessage
	// Subscore decides among equal scores, on boards that have subscores; nil counts as 0.
	Subscore *int64
}

// Receipt is the outcome of an increment on one board: NewScore,
// PreviousScore, Applied (their difference), Rank, the user's Version and the
// event's id. Rank is nil if the server could not compute it in time. Matched are the
// receipts of the boards on which an increment without a board counts by their rules.
type Receipt = wire.Receipt

// NewEventID returns a new event id: a UUID of version 7, which sorts by time and
// so keeps the server's indexes compact.
func NewEventID() string {
	return uuid.Must(uuid.NewV7()).String()
}

func (in *Increment) request() *wire.IncrementRequest {
	return &wire.IncrementRequest{
		UserID: in.User, Delta: in.Delta, EventID: in.EventID, Board: in.Board, Action: in.Action,
		ActionToken: in.ActionToken, Attestation: in.Attestation, Attributes: in.Attributes, IfPeriod: in.IfPeriod,
		Metadata: wire.Object(in.Metadata), Subscore: in.Subscore,
	}
}

// signedInHeaders reports whether it has what the signature of its fields does not cover.
func (in *Increment) signedInHeaders() bool {
	return len(in.Attributes) > 0 || in.IfPeriod != "" || len(in.Metadata) > 0 || in.Subscore != nil
}

// Submit counts an increment and returns its receipt. It retries temporary errors
// with the same event id, so the increment counts at most once. An *Error has the
// event id.
//
// If the server queues the increment, Submit waits for its outcome until ctx ends, and at
// most 30 s. Then the error has the status 202 and the code unavailable: the increment is
// accepted, and ReceiptOf returns its outcome later.
func (c *Client) Submit(ctx context.Context, in Increment) (Receipt, error) {
	receipts, err := c.submit(ctx, &in, nil)
	if err != nil {
		return Receipt{}, err
	}
	// The look-up of an event lists its receipts by the names of the boards.
	global := func(r Receipt) bool { return r.Board == wire.GlobalBoard }
	first := max(slices.IndexFunc(receipts, global), 0)
	receipt := receipts[first]
	if len(receipts) > 1 {
		receipt.Matched = slices.Delete(receipts, first, first+1)
	}
	return receipt, nil
}

// SubmitBoards counts one increment on several boards, all or none, and returns
// their receipts in the order of boards. It ignores the increment's Board. If the server
// queues the increment, it waits as Submit does.
func (c *Client) SubmitBoards(ctx context.Context, in Increment, boards []string) ([]Receipt, error) {
	in.Board = ""
	receipts, err := c.submit(ctx, &in, boards)
	if err != nil {
		return nil, err
	}
	place := func(r Receipt) int {
		family, _, _ := strings.Cut(r.Board, ":") // the receipt is of a period, such as daily:2026-11-21
		return slices.Index(boards, family)
	}
	slices.SortStableFunc(receipts, func(a, b Receipt) int { return place(a) - place(b) })
	return receipts, nil
}

func (c *Client) submit(ctx context.Context, in *Increment, boards []string) ([]Receipt, error) {
	if in.EventID == "" {
		in.EventID = NewEventID()
	}
	var response eventResponse
	err := c.do(ctx, call{
		op: opSubmit, method: http.MethodPost, path: "/v1/scores/increment",
		eventID: in.EventID, sign: in.signedInHeaders(),
		body: func(now time.Time) any {
			r := in.request()
			r.Boards = boards
			if in.signedInHeaders() {
				r.Timestamp = now.UTC().Format(time.RFC3339)
			} else {
				c.signer.Fields(r, now)
			}
			return r
		},
	}, &response)
	if err != nil {
		return nil, err
	}
	event := response.event()
	if event.Status == wire.StatusPending {
		if event, err = c.awaitOutcome(ctx, in.User, in.EventID); err != nil {
			return nil, err
		}
	}
	switch {
	case event.Status == wire.StatusRejected:
		return nil, &Error{
			Op: opSubmit, Status: http.StatusOK, Attempts: 1, Code: event.Code, Message: event.Message,
			EventID: in.EventID,
		}
	case event.ID == "" || len(event.Receipts) == 0:
		return nil, noReceipt(in.EventID)
	}
	return event.Receipts, nil
}

const opSubmit = "submit an increment"

// noReceipt is the error for a success without what shows it.
func noReceipt(eventID string) error {
	e := connectionError(errors.New("the server's response contains no receipt"))
	e.Op, e.EventID = opSubmit, eventID
	return e
}

// awaitOutcome waits until an increment that the server has queued is done or rejected:
// within milliseconds, unless the server is in trouble.
func (c *Client) awaitOutcome(ctx context.Context, user, id string) (Event, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeouts.queued)
	defer cancel()
	for n := 0; ; n++ {
		event, err := c.ReceiptOf(ctx, user, id)
		if err == nil && event.Status != wire.StatusPending {
			return event, nil
		}
		var e *Error
		if errors.As(err, &e) && !e.Temporary() && e.Code != wire.CodeNotFound {
			e.EventID = id
			return Event{}, e
		}
		if ended := sleep(ctx, min(c.timeouts.lookupMin<<min(n, 20), c.timeouts.lookupMax)); ended != nil {
			return Event{}, &Error{
				Op: opSubmit, Status: http.StatusAccepted, Code: wire.CodeUnavailable, Attempts: 1,
				Message: "the increment is accepted, but not counted yet", EventID: id, Err: ended,
			}
		}
	}
}

// Result is the outcome of one increment of a batch: a receipt or an error.
type Result struct {
	Receipt Receipt
	Err     error
}

// MaxBatch is the maximum number of increments in a batch.
const MaxBatch = wire.MaxBatch

// SubmitBatch counts up to MaxBatch increments in one request, which needs the
// scope score:update, and returns a result for each, in order. An error means that
// the outcome of all increments is unknown. They can be sent again, because
// SubmitBatch fills in missing event ids in ins.
func (c *Client) SubmitBatch(ctx context.Context, ins []Increment) ([]Result, error) {
	for i := range ins {
		if ins[i].EventID == "" {
			ins[i].EventID = NewEventID()
		}
	}
	var response wire.BatchResults
	err := c.do(ctx, call{
		op: "submit a batch", method: http.MethodPost, path: "/v1/scores/increments", sign: true,
		body: func(now time.Time) any {
			batch := wire.Batch{Items: make([]wire.IncrementRequest, len(ins))}
			for i := range ins {
				batch.Items[i] = *ins[i].request()
				batch.Items[i].Timestamp = now.UTC().Format(time.RFC3339)
			}
			return batch
		},
	}, &response)
	if err != nil {
		return nil, err
	}
	if len(response.Results) != len(ins) {
		e := connectionError(fmt.Errorf("%d results for %d increments", len(response.Results), len(ins)))
		e.Op = "submit a batch"
		return nil, e
	}
	results := make([]Result, len(ins))
	for i, r := range response.Results {
		results[i] = batchResult(r, ins[i].EventID)
	}
	return results, nil
}

func batchResult(r wire.BatchResult, eventID string) Result {
	switch {
	case r.Error != nil:
		return Result{Err: &Error{
			Op: "submit an increment of a batch", Status: http.StatusOK, Attempts: 1,
			Code: wire.Code(r.Error.ErrorCode), Message: r.Error.Message, Field: r.Error.Field,
			Reason:    wire.Reason(r.Error.Reason),
			NextReset: timeOf(r.Error.NextReset),
			EventID:   eventID, RequestID: r.Error.RequestID,
		}}
	case r.Receipt != nil:
		return Result{Receipt: *r.Receipt}
	default:
		return Result{Err: noReceipt(eventID)}
	}
}

// Event is the state of an event: pending, done with its receipts (one for
// each board), or rejected with a code and a message.
type Event struct {
	ID       string    `json:"processed_event_id"`
	Status   string    `json:"status"`
	Receipts []Receipt `json:"receipts,omitempty"`
	Code     wire.Code `json:"error_code,omitempty"`
	Message  string    `json:"message,omitempty"`
}

// Receipt looks up an event of the token's user by its id. The error is not_found
// if the server does not know the event, or does not know it yet.
func (c *Client) Receipt(ctx context.Context, id string) (Event, error) {
	return c.ReceiptOf(ctx, "", id)
}

// ReceiptOf looks up an event of any user; it needs the scope score:update.
func (c *Client) ReceiptOf(ctx context.Context, user, id string) (Event, error) {
	query := url.Values{}
	setText(query, "user_id", user)
	var response eventResponse
	err := c.do(ctx, call{
		op: "look up event " + id, method: http.MethodGet, path: "/v1/events/" + url.PathEscape(id), query: query,
	}, &response)
	if err != nil {
		return Event{}, err
	}
	return response.event(), nil
}

// eventResponse is the state of an event in any of the forms in which the API sends it.
type eventResponse struct {
	Receipt
	Receipts []Receipt `json:"receipts"`
	Code     wire.Code `json:"error_code"`
	Message  string    `json:"message"`
}

func (r *eventResponse) event() Event {
	e := Event{ID: r.ProcessedEventID, Status: r.Status, Receipts: r.Receipts, Code: r.Code, Message: r.Message}
	if e.Receipts != nil {
		e.Status = wire.StatusDone // the response for several boards has no status
	} else if e.Status == wire.StatusDone {
		e.Receipts = []Receipt{r.Receipt}
	}
	return e
}

// ActionRequest starts an action: its user, its board, and limits within those of
// the board.
type ActionRequest = wire.ActionRequest

// Action is a started action with the token for its increment.
type Action = wire.Action

// StartAction starts an action of a user. The increment that ends it carries its
// ActionToken, has the same board and action, and is sent after MinDuration and
// before ExpiresAt.
func (c *Client) StartAction(ctx context.Context, r ActionRequest) (Action, error) {
	var action Action
	err := c.do(ctx, call{
		op: "start an action", method: http.MethodPost, path: "/v1/actions",
		body: func(time.Time) any { return r },
	}, &action)
	return action, err
}
