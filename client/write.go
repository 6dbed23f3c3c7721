package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
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
}

// Receipt is the outcome of an increment on one board: NewScore,
// PreviousScore, Applied (their difference), Rank, the user's Version and the
// event's id. Rank is nil if the server could not compute it in time. Status is
// done, or pending if the server queued the increment; then only ProcessedEventID is
// set, and Client.Receipt returns the outcome. Matched are the receipts of the boards on
// which an increment without a board counts by their rules.
type Receipt = protocol.Receipt

// NewEventID returns a new event id: a UUID of version 7, which sorts by time and
// so keeps the server's indexes compact.
func NewEventID() string {
	return uuid.Must(uuid.NewV7()).String()
}

func (in *Increment) request() *protocol.IncrementRequest {
	return &protocol.IncrementRequest{
		UserID: in.User, Delta: in.Delta, EventID: in.EventID, Board: in.Board, Action: in.Action,
		ActionToken: in.ActionToken, Attestation: in.Attestation, Attributes: in.Attributes,
	}
}

// Submit counts an increment and returns its receipt. It retries temporary errors
// with the same event id, so the increment counts at most once. An *Error has the
// event id.
func (c *Client) Submit(ctx context.Context, in Increment) (Receipt, error) {
	var receipt Receipt
	err := c.submit(ctx, &in, nil, &receipt)
	if err == nil && receipt.ProcessedEventID == "" {
		err = noReceipt(in.EventID)
	}
	return receipt, err
}

// noReceipt is the error for a success without what shows it.
func noReceipt(eventID string) error {
	e := connectionError(errors.New("the server's response contains no receipt"))
	e.Op, e.EventID = "submit an increment", eventID
	return e
}

// SubmitBoards counts one increment on several boards, all or none, and returns
// their receipts in order. It ignores the increment's Board.
func (c *Client) SubmitBoards(ctx context.Context, in Increment, boards []string) ([]Receipt, error) {
	in.Board = ""
	var receipts protocol.Receipts
	err := c.submit(ctx, &in, boards, &receipts)
	if err == nil && receipts.ProcessedEventID == "" {
		err = noReceipt(in.EventID)
	}
	return receipts.Receipts, err
}

func (c *Client) submit(ctx context.Context, in *Increment, boards []string, out any) error {
	if in.EventID == "" {
		in.EventID = NewEventID()
	}
	return c.do(ctx, call{
		op: "submit an increment", method: http.MethodPost, path: "/v1/scores/increment",
		eventID: in.EventID, sign: len(in.Attributes) > 0, // which the field signature does not cover
		body: func(now time.Time) any {
			r := in.request()
			r.Boards = boards
			if len(in.Attributes) > 0 {
				r.Timestamp = now.UTC().Format(time.RFC3339)
			} else {
				c.signer.Fields(r, now)
			}
			return r
		},
	}, out)
}

// Result is the outcome of one increment of a batch: a receipt or an error.
type Result struct {
	Receipt Receipt
	Err     error
}

// MaxBatch is the maximum number of increments in a batch.
const MaxBatch = protocol.MaxBatch

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
	var response protocol.BatchResults
	err := c.do(ctx, call{
		op: "submit a batch", method: http.MethodPost, path: "/v1/scores/increments", sign: true,
		body: func(now time.Time) any {
			batch := protocol.Batch{Items: make([]protocol.IncrementRequest, len(ins))}
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

func batchResult(r protocol.BatchResult, eventID string) Result {
	switch {
	case r.Error != nil:
		return Result{Err: &Error{
			Op: "submit an increment of a batch", Status: http.StatusOK, Attempts: 1,
			Code: scoreboard.Code(r.Error.ErrorCode), Message: r.Error.Message, Field: r.Error.Field,
			Reason:  scoreboard.Reason(r.Error.Reason),
			EventID: eventID, RequestID: r.Error.RequestID,
		}}
	case r.Receipt != nil:
		return Result{Receipt: *r.Receipt}
	default:
		return Result{Receipt: Receipt{ProcessedEventID: eventID, Status: r.Status}}
	}
}

// Event is the state of an event: pending, done with its receipts (one for
// each board), or rejected with a code and a message.
type Event struct {
	ID       string          `json:"processed_event_id"`
	Status   string          `json:"status"`
	Receipts []Receipt       `json:"receipts,omitempty"`
	Code     scoreboard.Code `json:"error_code,omitempty"`
	Message  string          `json:"message,omitempty"`
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
	var response struct {
		Receipt
		Receipts []Receipt       `json:"receipts"`
		Code     scoreboard.Code `json:"error_code"`
		Message  string          `json:"message"`
	}
	err := c.do(ctx, call{
		op: "look up event " + id, method: http.MethodGet, path: "/v1/events/" + url.PathEscape(id), query: query,
	}, &response)
	if err != nil {
		return Event{}, err
	}
	e := Event{
		ID: response.ProcessedEventID, Status: response.Status, Receipts: response.Receipts,
		Code: response.Code, Message: response.Message,
	}
	if e.Receipts != nil {
		e.Status = protocol.StatusDone // the response for several boards has no status
	} else if e.Status == protocol.StatusDone {
		e.Receipts = []Receipt{response.Receipt}
	}
	return e, nil
}

// ActionRequest starts an action: its user, its board, and limits within those of
// the board.
type ActionRequest = protocol.ActionRequest

// Action is a started action with the token for its increment.
type Action = protocol.Action

// StartAction starts an action of a user. The increment that ends it carries its
// ActionToken, has the same board and action, and is sent after LeastDuration and
// before ExpiresAt.
func (c *Client) StartAction(ctx context.Context, r ActionRequest) (Action, error) {
	var action Action
	err := c.do(ctx, call{
		op: "start an action", method: http.MethodPost, path: "/v1/actions",
		body: func(time.Time) any { return r },
	}, &action)
	return action, err
}
