package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Increment is one event to be counted.
type Increment struct {
	User  string
	Delta int64 // on best and latest boards the submitted score
	// EventID makes repeats count once; Submit makes one when it is empty.
	EventID string
	Board   string // global when empty
	// Action names what the user did, for boards with rules about it.
	Action string
	// ActionToken is what StartAction returned, for boards that want one; it is
	// good for one event. Attestation is what an authoritative server signed.
	ActionToken string
	Attestation string
}

// Receipt is the outcome of an increment on one board: NewScore,
// PreviousScore, Applied (their difference), Rank, the user's Version and the
// event's id. Rank is nil when the server could not tell it in time. Status is
// done, or pending when the server took the increment for later, in which case
// only ProcessedEventID is set and Client.Receipt tells the outcome.
type Receipt = protocol.Receipt

// NewEventID returns a fresh event id: a UUID of version 7, which sorts by
// time and so keeps the server's indexes compact.
func NewEventID() string {
	return uuid.Must(uuid.NewV7()).String()
}

func (in *Increment) request() *protocol.IncrementRequest {
	return &protocol.IncrementRequest{
		UserID: in.User, Delta: in.Delta, EventID: in.EventID, Board: in.Board, Action: in.Action,
		ActionToken: in.ActionToken, Attestation: in.Attestation,
	}
}

// Submit counts an increment and returns its receipt. It tries again after
// what may pass, always with the same event id, so it counts once at most; an
// *Error names the id.
func (c *Client) Submit(ctx context.Context, in Increment) (Receipt, error) {
	var receipt Receipt
	err := c.submit(ctx, &in, nil, &receipt)
	return receipt, err
}

// SubmitBoards counts one increment on several boards, all or none, and
// returns their receipts in order. The increment's own Board is not used.
func (c *Client) SubmitBoards(ctx context.Context, in Increment, boards []string) ([]Receipt, error) {
	in.Board = ""
	var receipts protocol.Receipts
	err := c.submit(ctx, &in, boards, &receipts)
	return receipts.Receipts, err
}

func (c *Client) submit(ctx context.Context, in *Increment, boards []string, out any) error {
	if in.EventID == "" {
		in.EventID = NewEventID()
	}
	return c.do(ctx, call{
		op: "submit an increment", method: http.MethodPost, path: "/v1/scores/increment",
		eventID: in.EventID,
		body: func(now time.Time) any {
			r := in.request()
			r.Boards = boards
			c.signer.Fields(r, now)
			return r
		},
	}, out)
}

// Result is what one increment of a batch came to: a receipt, or an error.
type Result struct {
	Receipt Receipt
	Err     error
}

// MaxBatch is the most increments of one batch.
const MaxBatch = protocol.MaxBatch

// SubmitBatch counts up to MaxBatch increments in one request, which needs the
// scope score:update, and returns a result for each in their order. The error
// is that of the batch as a whole; nothing is known of its increments then,
// and they can be sent again, because missing event ids are filled in ins.
func (c *Client) SubmitBatch(ctx context.Context, ins []Increment) ([]Result, error) {
	for i := range ins {
		if ins[i].EventID == "" {
			ins[i].EventID = NewEventID()
		}
	}
	var answer protocol.BatchResults
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
	}, &answer)
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(ins) {
		e := broken(fmt.Errorf("%d results for %d increments", len(answer.Results), len(ins)))
		e.Op = "submit a batch"
		return nil, e
	}
	results := make([]Result, len(ins))
	for i, r := range answer.Results {
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
			Reason: scoreboard.Reason(r.Error.Reason),
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

// Receipt looks an event of the token's user up by its id. One that the server
// does not know (yet) is a not_found.
func (c *Client) Receipt(ctx context.Context, id string) (Event, error) {
	return c.ReceiptOf(ctx, "", id)
}

// ReceiptOf looks up an event of any user, for servers.
func (c *Client) ReceiptOf(ctx context.Context, user, id string) (Event, error) {
	query := url.Values{}
	if user != "" {
		query.Set("user_id", user)
	}
	var answer struct {
		Receipt
		Receipts []Receipt       `json:"receipts"`
		Code     scoreboard.Code `json:"error_code"`
		Message  string          `json:"message"`
	}
	err := c.do(ctx, call{
		op: "look up event " + id, method: http.MethodGet, path: "/v1/events/" + url.PathEscape(id), query: query,
	}, &answer)
	if err != nil {
		return Event{}, err
	}
	e := Event{ID: answer.ProcessedEventID, Status: answer.Status, Receipts: answer.Receipts, Code: answer.Code, Message: answer.Message}
	if e.Receipts != nil {
		e.Status = protocol.StatusDone // the answer for several boards has no status of its own
	} else if e.Status == protocol.StatusDone {
		e.Receipts = []Receipt{answer.Receipt}
	}
	return e, nil
}
