package clienttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return scoreboard.Errorf(scoreboard.CodeInvalidRequest, "%v", err)
	}
	return nil
}

// statusOf returns the HTTP status of the codes that this server uses.
func statusOf(err error) int {
	switch scoreboard.CodeOf(err) {
	case scoreboard.CodeInvalidRequest:
		return 400
	case scoreboard.CodeInvalidSignature:
		return 401
	case scoreboard.CodeForbidden:
		return 403
	case scoreboard.CodeNotFound:
		return 404
	case scoreboard.CodeEventConflict:
		return 409
	case scoreboard.CodeDeltaOutOfRange, scoreboard.CodeScoreOutOfRange:
		return 422
	}
	return 500
}

func (s *Server) increment(w http.ResponseWriter, r *http.Request) {
	user, scope, ok := caller(w, r)
	if !ok {
		return
	}
	var in protocol.IncrementRequest
	body, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	err := decode(body, &in)
	s.mu.Lock()
	s.seen[r.Context().Value(placeKey{}).(int)].Increment = in
	if err == nil && in.UserID != user && !hasScope(scope, "score:update") {
		err = scoreboard.Errorf(scoreboard.CodeForbidden, "the token is not for this user")
	}
	if err == nil {
		err = s.checkFields(&in)
	}
	var receipt protocol.Receipt
	if err == nil {
		receipt, err = s.game.record(&in)
	}
	s.mu.Unlock()
	if err != nil {
		answer := errorBody(err)
		answer.EventID = in.EventID
		write(w, statusOf(err), answer)
		return
	}
	s.changed()
	if len(in.Boards) > 0 {
		write(w, 200,
			protocol.Receipts{UserID: in.UserID, ProcessedEventID: in.EventID, Receipts: []protocol.Receipt{receipt}})
		return
	}
	write(w, 200, receipt)
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	_, scope, ok := caller(w, r)
	if !ok {
		return
	}
	if !hasScope(scope, "score:update") {
		refuse(w, 403, scoreboard.Errorf(scoreboard.CodeForbidden, "the token lacks the scope score:update"))
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var in protocol.Batch
	err := decode(body, &in)
	s.mu.Lock()
	if err == nil {
		err = s.checkHeaders(r, body)
	}
	var out protocol.BatchResults
	for i := range in.Items {
		if err != nil {
			break
		}
		receipt, itemErr := s.game.record(&in.Items[i])
		if itemErr != nil {
			e := errorBody(itemErr)
			out.Results = append(out.Results, protocol.BatchResult{Status: protocol.StatusRejected, Error: &e})
			continue
		}
		out.Results = append(out.Results, protocol.BatchResult{Status: protocol.StatusDone, Receipt: &receipt})
	}
	s.mu.Unlock()
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	s.changed()
	write(w, 200, out)
}

func (s *Server) event(w http.ResponseWriter, r *http.Request) {
	user, _, ok := caller(w, r)
	if !ok {
		return
	}
	if u := r.URL.Query().Get("user_id"); u != "" {
		user = u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	event, err := scoreboard.ParseEventID(scoreboard.UserID(user), r.PathValue("id"))
	known, found := s.game.events[[2]string{user, scoreboard.FormatUUID(event.UUID)}]
	switch {
	case err != nil:
		refuse(w, 400, err)
	case !found:
		refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "event not found"))
	default:
		write(w, 200, known.receipt)
	}
}

func (s *Server) top(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := caller(w, r); !ok || !s.boardExists(w, r) {
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if limit == 0 {
		limit = 10
	}
	s.mu.Lock()
	g := &s.game
	all := g.entries()
	now := time.Now().UTC()
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "after-"))
	from = min(from, len(all))
	out := protocol.Top{
		Board: string(g.board.ID), Total: int64(len(all)), Entries: all[from:min(from+limit, len(all))],
		UpdatedAt: now, AsOf: now, Degraded: g.degraded != "", DegradedReason: g.degraded,
	}
	if !out.Degraded {
		version, epoch := g.version, g.epoch
		out.Version, out.Epoch = &version, &epoch
	}
	if from += limit; from < len(all) {
		out.NextCursor = "after-" + strconv.Itoa(from)
	}
	s.mu.Unlock()
	write(w, 200, out)
}

func (s *Server) boardExists(w http.ResponseWriter, r *http.Request) bool {
	board := r.URL.Query().Get("board")
	if board == "" || board == string(scoreboard.GlobalBoard) {
		return true
	}
	refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "board %q not found", board))
	return false
}

func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	if user, _, ok := caller(w, r); ok && s.boardExists(w, r) {
		s.place(w, r, user)
	}
}

func (s *Server) user(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := caller(w, r); ok && s.boardExists(w, r) {
		s.place(w, r, r.PathValue("user"))
	}
}

func (s *Server) place(w http.ResponseWriter, r *http.Request, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rank := s.game.rank(user)
	if rank == 0 {
		e := errorBody(scoreboard.Errorf(scoreboard.CodeNotFound, "the user has no score on this board"))
		if score, err := strconv.ParseInt(r.URL.Query().Get("score"), 10, 64); err == nil {
			e.WouldRank = 1
			for _, other := range s.game.entries() {
				if other.Score >= score {
					e.WouldRank++
				}
			}
		}
		write(w, 404, e)
		return
	}
	all := s.game.entries()
	p := scoreboard.Place{Rank: rank, Total: int64(len(all))}
	now := time.Now().UTC()
	out := protocol.Place{
		Board: string(s.game.board.ID), UserID: user, Score: s.game.users[user].score, Rank: rank, Total: p.Total,
		Percentile: p.Percentile(), Version: &s.game.version, Epoch: &s.game.epoch, UpdatedAt: now, AsOf: now,
	}
	if k, _ := strconv.Atoi(r.URL.Query().Get("k")); k > 0 {
		out.Neighbours = all[max(int(rank)-1-k, 0):min(int(rank)+k, len(all))]
	}
	write(w, 200, out)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := caller(w, r); !ok {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	in, err := protocol.DecodeUsers(body, 100)
	if err != nil {
		refuse(w, 400, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := protocol.List{
		Board: string(s.game.board.ID), Entries: []protocol.ListEntry{}, NotFound: []string{},
		AsOf: time.Now().UTC(),
	}
	for _, e := range s.game.entries() {
		if slices.Contains(in.UserIDs, e.UserID) {
			out.Entries = append(out.Entries, protocol.ListEntry{Place: len(out.Entries) + 1, Entry: e})
		}
	}
	for _, user := range in.UserIDs {
		if s.game.rank(user) == 0 {
			out.NotFound = append(out.NotFound, user)
		}
	}
	write(w, 200, out)
}

func (s *Server) mint(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	in := protocol.TokenRequest{TTL: "15m"}
	err := decode(body, &in)
	ttl, ttlErr := time.ParseDuration(in.TTL)
	if err = errors.Join(err, ttlErr); err != nil {
		refuse(w, 400, scoreboard.Invalid("ttl", "%v", err))
		return
	}
	write(w, 200, protocol.Token{Token: TokenFor(in.UserID, in.Scope, ttl), ExpiresAt: time.Now().Add(ttl).UTC()})
}
