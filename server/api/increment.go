package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// increment is POST /v1/scores/increment.
func (a *API) increment(c *gin.Context, who *auth.Claims) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	r, err := protocol.DecodeIncrement(body)
	echoEvent(c, r)
	if err != nil {
		return err
	}
	in, err := a.validate(c.Request.Context(), r, who)
	if err != nil {
		return err
	}
	by, err := a.checkSignature(c, r, body)
	if err != nil {
		return err
	}
	if err := a.checkScope(c.Request.Context(), by, in); err != nil {
		return err
	}
	if err := a.checkProofs(c, r, in); err != nil {
		return err
	}
	a.note(c, in, scoreboard.SourceAPI, by.key)
	if a.wantsAsync(c, in) {
		return a.accept(c, r, in)
	}
	receipts, err := a.Submitter.Submit(c.Request.Context(), *in)
	if err != nil && a.now().OverflowAsync && a.mayAsync(c, in) && scoreboard.CodeOf(err) == scoreboard.CodeOverloaded {
		return a.accept(c, r, in)
	}
	if err != nil {
		return err
	}
	answer(c, r, receipts)
	return nil
}

// note adds to an increment how it came in, for the audit.
func (a *API) note(c *gin.Context, in *scoreboard.Increment, source scoreboard.Source, key string) {
	in.Source, in.KeyID, in.Trace = source, key, c.GetString(keyTrace)
	in.Country = a.country(c.Request)
	in.Address, in.Agent = address(c.Request), cut(c.Request.UserAgent(), maxAgent)
}

// maxAgent is how much of a User-Agent the ledger keeps.
const maxAgent = 200

func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// echoEvent remembers a well-formed event id for the answer, whatever it is.
func echoEvent(c *gin.Context, r *protocol.IncrementRequest) {
	if _, err := scoreboard.ParseEventID("", r.EventID); err == nil {
		c.Set(keyEventID, r.EventID)
	}
}

// validate turns a request into an increment: form, whose it is, boards and
// bounds. What only the transaction can know is left to it.
func (a *API) validate(ctx context.Context, r *protocol.IncrementRequest, who *auth.Claims) (*scoreboard.Increment, error) {
	user, err := scoreboard.ParseUserID(r.UserID)
	if err != nil {
		return nil, err
	}
	event, err := scoreboard.ParseEventID(user, r.EventID)
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339, r.Timestamp)
	if err != nil {
		return nil, scoreboard.Invalid("timestamp", "timestamp must be RFC 3339")
	}
	if err := scoreboard.CheckAction(r.Action); err != nil {
		return nil, err
	}
	boards, err := boardsOf(r)
	if err != nil {
		return nil, err
	}
	if user != who.User && !who.Has(auth.ScopeUpdate) {
		return nil, scoreboard.Errorf(scoreboard.CodeForbidden, "the token is not for user %s", user)
	}
	in := &scoreboard.Increment{
		User: user, Delta: r.Delta, Event: event, Boards: boards, Action: r.Action, Client: at.UTC(), Signer: string(who.User),
		Server: who.Has(auth.ScopeUpdate),
	}
	for _, id := range boards {
		board, err := a.Catalog.Board(ctx, id)
		if err != nil {
			return nil, err
		}
		switch err := board.CheckDelta(r.Delta); {
		case err == nil:
		case scoreboard.CodeOf(err) != scoreboard.CodeDeltaOutOfRange:
			return nil, err
		case in.Objection == nil:
			// The bounds may have been wider when the event was counted.
			errors.As(err, &in.Objection)
		}
	}
	return in, nil
}

// boardsOf returns the boards that a request names, global where it names
// none.
func boardsOf(r *protocol.IncrementRequest) ([]scoreboard.BoardID, error) {
	names := r.Boards
	switch {
	case r.Board != "" && r.Boards != nil:
		return nil, scoreboard.Invalid("boards", "board and boards cannot both be given")
	case r.Board != "":
		names = []string{r.Board}
	case r.Boards == nil:
		return []scoreboard.BoardID{scoreboard.GlobalBoard}, nil
	case len(r.Boards) == 0:
		return nil, scoreboard.Invalid("boards", "boards must name at least one board")
	}
	boards := make([]scoreboard.BoardID, 0, len(names))
	for _, name := range names {
		board, err := scoreboard.ParseBoardID(name)
		if err != nil {
			return nil, err
		}
		if board.IsInstance() {
			return nil, scoreboard.Invalid("board", "an instance of a board cannot be written by its name; name the board")
		}
		for _, other := range boards {
			if board == other {
				return nil, scoreboard.Invalid("boards", "board %s stands twice", board)
			}
		}
		boards = append(boards, board)
	}
	return boards, nil
}

// checkSignature verifies the header scheme where its header is there, else
// the field scheme, and returns the key that signed.
func (a *API) checkSignature(c *gin.Context, r *protocol.IncrementRequest, body []byte) (signed, error) {
	if given := c.GetHeader(protocol.HeaderSignature); given != "" {
		return a.checkHeader(c, given, body)
	}
	if r.Signature == "" {
		if a.now().SignatureOptional {
			return signed{}, nil
		}
		return signed{}, auth.ErrSignature()
	}
	at, err := time.Parse(time.RFC3339, r.Timestamp)
	if err != nil {
		return signed{}, auth.ErrSignature()
	}
	return a.checkKey(c, r.KeyID, r.FieldText(), r.Signature, at)
}

func (a *API) checkHeader(c *gin.Context, given string, body []byte) (signed, error) {
	key, stamp := c.GetHeader(protocol.HeaderKey), c.GetHeader(protocol.HeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	signature, ok := strings.CutPrefix(given, protocol.SignatureVersion)
	if err != nil || !ok {
		return signed{}, auth.ErrSignature()
	}
	text := protocol.HeaderText(c.Request.Method, c.Request.URL.RequestURI(), key, stamp, body)
	return a.checkKey(c, key, text, signature, time.Unix(seconds, 0))
}

// answer sends one receipt, or a list where the request named boards.
func answer(c *gin.Context, r *protocol.IncrementRequest, receipts []scoreboard.Receipt) {
	if r.Boards == nil {
		receipt := receiptJSON(&receipts[0])
		c.Data(http.StatusOK, "application/json", receipt.AppendJSON(make([]byte, 0, receiptSize)))
		return
	}
	out := make([]protocol.Receipt, len(receipts))
	for i := range receipts {
		out[i] = receiptJSON(&receipts[i])
	}
	respond(c, http.StatusOK, protocol.Receipts{UserID: r.UserID, ProcessedEventID: r.EventID, Receipts: out})
}

// receiptSize is more than most receipts need.
const receiptSize = 384

func receiptJSON(r *scoreboard.Receipt) protocol.Receipt {
	return protocol.Receipt{
		UserID: string(r.User), Board: string(r.Board), NewScore: int64(r.NewScore), PreviousScore: (*int64)(r.Previous),
		Rank: r.Rank, Version: r.Version, ProcessedEventID: r.Event.Text, Applied: r.Applied, Replayed: r.Replayed,
		Reversed: r.Reversed, RecordedAt: r.RecordedAt, Status: protocol.StatusDone,
	}
}
