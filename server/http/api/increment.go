package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// command is an increment request, each field parsed once. The request keeps the
// fields as they were signed.
type command struct {
	scoreboard.Increment
	request    *wire.IncrementRequest
	boundToken bool // its action token must have been made for its event
	// dialectForm is that of its attestation, which lets any caller write it; nil for the
	// native API.
	dialectForm *auth.AttestationForm
	// attestedEvent is what its attestation names as the event; "" is the event's id.
	attestedEvent string
	// vouched says that an attestation in the dialect's form lets any caller write it.
	vouched bool
	// unsignedByRules has it count on boards of rules although no key has signed it.
	unsignedByRules bool
}

// parseCommand parses the fields of a request; nothing is looked up. The event id
// is set whenever it is well-formed, also beside an error, for the error body.
func parseCommand(r *wire.IncrementRequest, caller *auth.Claims) (*command, error) {
	cmd := &command{request: r}
	user, userErr := caller.WrittenUser(r.UserID)
	event, err := scoreboard.ParseEventID(user, r.EventID)
	cmd.User, cmd.Event = user, event
	if userErr != nil {
		return cmd, userErr
	}
	if err != nil {
		return cmd, err
	}
	at, err := scoreboard.ParseTime(r.Timestamp)
	if err != nil {
		return cmd, scoreboard.Invalid("timestamp", "timestamp must be RFC 3339")
	}
	if r.WithoutDelta {
		return cmd, scoreboard.Invalid("delta", "delta is required")
	}
	if err := scoreboard.CheckClientAction(r.Action); err != nil {
		return cmd, err
	}
	if cmd.Attributes, err = scoreboard.ParseAttributes(r.Attributes); err != nil {
		return cmd, err
	}
	cmd.ByRules = r.Board == "" && r.Boards == nil
	if !cmd.ByRules && cmd.Attributes != nil && !caller.Has(auth.ScopeUpdate) {
		return cmd, scoreboard.Invalid("attributes",
			"attributes are for board rules, which do not apply to an increment that names its boards")
	}
	cmd.unsignedByRules = true
	cmd.Delta, cmd.Action, cmd.Client = r.Delta, r.Action, at.UTC()
	if cmd.Boards, err = parseBoards(r.Board, r.Boards); err != nil {
		return cmd, err
	}
	if cmd.Metadata, err = protocol.ParseMetadata(r.Metadata); err != nil {
		return cmd, err
	}
	cmd.Subscore = (*scoreboard.Score)(r.Subscore)
	cmd.IfPeriod = scoreboard.BoardID(r.IfPeriod)
	return cmd, scoreboard.CheckIfPeriod(cmd.IfPeriod, cmd.Boards)
}

// parseBoards returns the boards that a request names: board, boards, or neither
// for global.
func parseBoards(board string, names []string) ([]scoreboard.BoardID, error) {
	switch {
	case board != "" && names != nil:
		return nil, scoreboard.Invalid("boards", "board and boards cannot both be given")
	case board != "":
		names = []string{board}
	case names == nil:
		return []scoreboard.BoardID{scoreboard.GlobalBoard}, nil
	case len(names) == 0:
		return nil, scoreboard.Invalid("boards", "boards must name at least one board")
	}
	boards := make([]scoreboard.BoardID, 0, len(names))
	for _, name := range names {
		id, err := scoreboard.ParseBoardID(name)
		if err != nil {
			return nil, err
		}
		if id.IsInstance() {
			return nil, scoreboard.Invalid("board", "an instance cannot be written to; name its board")
		}
		for _, other := range boards {
			if id == other {
				return nil, scoreboard.Invalid("boards", "duplicate board %s", id)
			}
		}
		boards = append(boards, id)
	}
	return boards, nil
}

// increments records single increments, at once or later.
type increments struct {
	submitter Submitter
	acceptor  Acceptor // nil: all are recorded at once
	admission *admission
	catalog   Catalog
	policy    *atomic.Pointer[Policy]
	ranks     *ranks
	subscores subscoreBoards
}

// increment is POST /v1/scores/increment.
func (h *increments) increment(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	r, decodeErr := protocol.DecodeIncrement(body)
	cmd, err := parseCommand(r, caller)
	if cmd.Event.Text != "" {
		c.Set(keyEventID, cmd.Event.Text)
	}
	if decodeErr != nil {
		return decodeErr
	}
	if err != nil {
		return err
	}
	charge, err := h.admission.admit(c, caller, cmd, body, h.policy.Load().SignatureOptional)
	if err != nil {
		return err
	}
	if prefersAsync(c) && h.canAsync(c, &cmd.Increment) {
		err := h.submitAsync(c, cmd, charge)
		if !errors.Is(err, scoreboard.ErrNoConsumer) {
			return err
		}
	}
	receipts, err := h.submitter.Submit(c.Request.Context(), cmd.Increment)
	if err != nil && h.policy.Load().OverflowAsync && h.canAsync(c, &cmd.Increment) &&
		wire.CodeOf(err) == wire.CodeOverloaded {
		asyncErr := h.submitAsync(c, cmd, charge)
		if !errors.Is(asyncErr, scoreboard.ErrNoConsumer) {
			return asyncErr
		}
	}
	charge.settle(receipts, err)
	if err != nil {
		return err
	}
	h.subscores.respondReceipts(c, cmd, receipts)
	return nil
}

// admission checks increments before they are recorded.
type admission struct {
	catalog     Catalog
	policy      *atomic.Pointer[Policy]
	signatures  *signatures
	tokenChecks *tokenChecks
	countries   Countries // nil: only the edge's country header is used
	updates     Limit     // of users, for writes without a token
}

// admit checks everything about a request that can be checked before the transaction,
// counts it against its key's rate, and adds where it came from.
func (a *admission) admit(
	c *gin.Context, caller *auth.Claims, cmd *command, body []byte, signatureOptional bool,
) (keyCharge, error) {
	came := time.Now()
	if cmd.dialectForm != nil {
		if err := a.tokenChecks.checkAttestation(c, cmd); err != nil {
			return keyCharge{}, err
		}
	}
	if caller == anonymous {
		if err := a.admitVouched(c.Request.Context(), cmd); err != nil {
			return keyCharge{}, err
		}
	}
	if err := a.authorize(c.Request.Context(), cmd, caller, came); err != nil {
		return keyCharge{}, err
	}
	by, err := a.signatures.checkSignature(c, cmd, body, signatureOptional)
	if err != nil {
		return keyCharge{}, err
	}
	if err := by.restrict(&cmd.Increment); err != nil {
		return keyCharge{}, err
	}
	if by.scope == nil && !cmd.unsignedByRules {
		cmd.ByRules = false
	}
	if err := a.tokenChecks.checkRequired(c, cmd); err != nil {
		return keyCharge{}, err
	}
	charge, err := a.signatures.chargeKey(c.Request.Context(), by)
	if err != nil {
		return keyCharge{}, err
	}
	a.setOrigin(c, &cmd.Increment, scoreboard.SourceAPI, by.keyID)
	return charge, nil
}

// admitVouched admits a write without a token if an attestation vouches for it, and counts
// it against the limit of its user, as the user's own writes.
func (a *admission) admitVouched(ctx context.Context, cmd *command) error {
	if !cmd.vouched {
		return auth.ErrNoToken()
	}
	return take(ctx, a.updates, string(cmd.User))
}

// authorize checks whether the caller may write for the user, and the delta against the
// bounds of the boards, as they were when the request came or later. The rest is checked
// in the transaction.
func (a *admission) authorize(ctx context.Context, cmd *command, caller *auth.Claims, came time.Time) error {
	server := caller.Has(auth.ScopeUpdate)
	if cmd.User != caller.User && !server && !cmd.vouched {
		return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", cmd.User)
	}
	cmd.Signer, cmd.Server = string(cmp.Or(caller.User, cmd.User)), server
	// A repeat gets its receipt, whatever the present rules.
	if cmd.Objection == nil { // else the attestation's, which is checked first in a dialect
		cmd.Objection = a.policy.Load().Actions.Of(cmd.Action).CheckScope(&cmd.Increment, caller.Scopes)
	}
	for _, id := range cmd.Boards {
		// A repeat must get its receipt whatever period the clock is in now.
		board, err := a.catalog.Named(ctx, id, actsForAll(caller), came)
		if err != nil {
			return err
		}
		if cmd.Objection == nil {
			errors.As(cmd.CheckPeriodic(board), &cmd.Objection)
		}
		switch err := board.CheckDelta(cmd.Delta, cmd.Subscore); {
		case err == nil:
		case wire.CodeOf(err) != wire.CodeDeltaOutOfRange:
			return err
		case cmd.Objection == nil:
			// The bounds may have been wider when the event was recorded.
			errors.As(err, &cmd.Objection)
		}
	}
	return nil
}

// maxAgent is how many bytes of a User-Agent the ledger keeps.
const maxAgent = 200

// setOrigin adds where an increment came from, for the ledger.
func (a *admission) setOrigin(c *gin.Context, in *scoreboard.Increment, source scoreboard.Source, keyID string) {
	in.Source, in.KeyID, in.Trace = source, keyID, spanOf(c).Traceparent()
	in.Country = a.country(c.Request)
	in.Address, in.Agent = address(c.Request), truncate(c.Request.UserAgent(), maxAgent)
}

// Countries returns the country of an address, "" if it is unknown.
type Countries interface {
	Country(address string) string
}

// country is the country of a request: from the edge's header, else by address.
func (a *admission) country(r *http.Request) string {
	if name := a.policy.Load().CountryHeader; name != "" {
		if code := strings.ToUpper(r.Header.Get(name)); isCountry(code) {
			return code
		}
	}
	if a.countries == nil {
		return ""
	}
	return a.countries.Country(address(r))
}

// isCountry accepts two letters, except XX, which edges send for "unknown".
func isCountry(s string) bool {
	return len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z' && s != "XX"
}

// prefersAsync reports whether the client prefers a 202.
func prefersAsync(c *gin.Context) bool {
	for _, prefer := range c.Request.Header.Values("Prefer") {
		for p := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(p), "respond-async") {
				return true
			}
		}
	}
	return false
}

// canAsync reports whether an increment may be recorded later. Boards of mode
// latest are excluded, because the last one recorded would win over the last one
// sent; so are increments with an objection, which only a repeat survives, and those
// of actions, whose time is not part of the record.
func (h *increments) canAsync(c *gin.Context, in *scoreboard.Increment) bool {
	if h.acceptor == nil || !h.policy.Load().Async || in.Objection != nil || in.ActionID != [16]byte{} {
		return false
	}
	kept, ranked := in.Metadata == "", in.Subscore == nil
	for _, id := range in.Boards {
		board, err := h.catalog.Board(c.Request.Context(), id)
		if err != nil || board.Mode == scoreboard.ModeLatest {
			return false
		}
		kept, ranked = kept || board.KeepsMetadata(), ranked || board.HasSubscores()
	}
	return kept && ranked // else it may be rejected, which only a repeat survives
}

// submitAsync answers 202 with the location of the event's status, or 200 if the
// event was recorded before. With scoreboard.ErrNoConsumer it has answered nothing: the
// increment must be recorded at once.
func (h *increments) submitAsync(c *gin.Context, cmd *command, charge keyCharge) error {
	receipts, err := h.acceptor.Accept(c.Request.Context(), cmd.Increment)
	if errors.Is(err, scoreboard.ErrNoConsumer) {
		return err
	}
	charge.settle(receipts, err)
	if err != nil {
		return err
	}
	if receipts != nil {
		h.ranks.rank(c, receipts)
		h.subscores.respondReceipts(c, cmd, receipts)
		return nil
	}
	c.Writer.Header().Set("Location",
		"/v1/events/"+cmd.Event.Text+"?user_id="+url.QueryEscape(string(cmd.User)))
	respond(c, http.StatusAccepted,
		wire.EventStatus{ProcessedEventID: cmd.Event.Text, Status: wire.StatusPending})
	return nil
}

// receiptSize is the capacity for one receipt; few need more.
const receiptSize = 384

// respondReceipts sends one receipt, with those of boards that rules have added, or a list if
// the request gave boards.
func (s subscoreBoards) respondReceipts(c *gin.Context, cmd *command, receipts []scoreboard.Receipt) {
	if cmd.request.Boards == nil {
		receipt := s.matchedJSON(c.Request.Context(), receipts)
		c.Data(http.StatusOK, "application/json", receipt.AppendJSON(make([]byte, 0, receiptSize)))
		return
	}
	respond(c, http.StatusOK, s.receiptsJSON(c.Request.Context(), cmd.User, cmd.Event, receipts))
}

// ranks adds the ranks to receipts that were looked up.
type ranks struct {
	ranker    Ranker
	subscores subscoreBoards
}

// respondRanked ranks receipts from the ledger and sends them: one as an object,
// several as a list.
func (r *ranks) respondRanked(
	c *gin.Context, user scoreboard.UserID, event scoreboard.EventID, receipts []scoreboard.Receipt,
) {
	r.rank(c, receipts)
	if len(receipts) == 1 {
		respond(c, http.StatusOK, r.subscores.receiptJSON(c.Request.Context(), &receipts[0]))
		return
	}
	respond(c, http.StatusOK, r.subscores.receiptsJSON(c.Request.Context(), user, event, receipts))
}

// rank fills in the ranks of receipts that were looked up.
func (r *ranks) rank(c *gin.Context, receipts []scoreboard.Receipt) {
	pointers := make([]*scoreboard.Receipt, len(receipts))
	for i := range receipts {
		pointers[i] = &receipts[i]
	}
	r.ranker.Rank(c.Request.Context(), pointers)
}

func (s subscoreBoards) receiptsJSON(
	ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, receipts []scoreboard.Receipt,
) wire.Receipts {
	out := wire.Receipts{
		UserID: string(user), ProcessedEventID: event.Text, Receipts: make([]wire.Receipt, len(receipts)),
	}
	for i := range receipts {
		out.Receipts[i] = s.receiptJSON(ctx, &receipts[i])
	}
	return out
}

// matchedJSON is the receipt of the requested board, with those of boards that rules have
// added.
func (s subscoreBoards) matchedJSON(ctx context.Context, receipts []scoreboard.Receipt) wire.Receipt {
	out := s.receiptJSON(ctx, &receipts[0])
	for i := 1; i < len(receipts); i++ {
		out.Matched = append(out.Matched, s.receiptJSON(ctx, &receipts[i]))
	}
	return out
}

func (s subscoreBoards) receiptJSON(ctx context.Context, r *scoreboard.Receipt) wire.Receipt {
	out := wire.Receipt{
		UserID: string(r.User), Board: string(r.Board),
		NewScore: int64(r.NewScore), PreviousScore: (*int64)(r.Previous),
		Rank: r.Rank, Version: r.Version, ProcessedEventID: r.Event.Text, Applied: r.Applied, Replayed: r.Replayed,
		Reversed: r.Reversed, RecordedAt: r.RecordedAt, Status: wire.StatusDone,
	}
	if s.on(ctx, r.Board) {
		out.NewSubscore, out.PreviousSubscore = (*int64)(&r.NewSubscore), (*int64)(r.PreviousSubscore)
	}
	return out
}
