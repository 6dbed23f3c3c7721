// Package contract is a client of the documented HTTP API that shares no code
// with the product: it signs, submits and reads as a customer's own code would,
// so that a mistake in the product's client cannot hide one in the server. Its Log keeps
// what clients did and were told: the only input of the checks beside what the API shows
// at the end.
package contract

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Client sends requests as one user, or as a server with scopes.
type Client struct {
	HTTP   *http.Client
	Token  string
	KeyID  string
	Secret string
	// Answered counts the operations that were answered: an increment, each item of a
	// batch, a read, a look-up, a change. Copies of a client share it.
	Answered *atomic.Int64
	// Broken is told of every answer with status 500: whatever fails around a server, it says 503.
	Broken func(method, path string, answer []byte)
}

// Token makes a bearer token of the development issuer.
func Token(secret, user, scope string, ttl time.Duration) (string, error) {
	now := time.Now()
	claims := jwt.MapClaims{
		"sub": user, "iss": "scoreboard-dev", "aud": "scoreboard",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(ttl).Unix(),
	}
	if scope != "" {
		claims["scope"] = scope
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
}

// Increment is the body of POST /v1/scores/increment, and an item of a batch.
type Increment struct {
	UserID    string   `json:"user_id"`
	Delta     int64    `json:"delta"`
	Subscore  *int64   `json:"subscore,omitempty"`
	EventID   string   `json:"event_id"`
	Timestamp string   `json:"timestamp"`
	Board     string   `json:"board,omitempty"`
	Boards    []string `json:"boards,omitempty"`
}

// Receipt answers an increment on one board.
type Receipt struct {
	UserID           string    `json:"user_id"`
	Board            string    `json:"board"`
	NewScore         int64     `json:"new_score"`
	PreviousScore    *int64    `json:"previous_score"`
	NewSubscore      *int64    `json:"new_subscore"` // absent on a board without subscores, as the next
	PreviousSubscore *int64    `json:"previous_subscore"`
	Rank             *int64    `json:"rank"`
	Version          int64     `json:"version"`
	ProcessedEventID string    `json:"processed_event_id"`
	Applied          int64     `json:"applied"`
	Replayed         bool      `json:"replayed"`
	Reversed         bool      `json:"reversed"`
	RecordedAt       time.Time `json:"recorded_at"`
	Status           string    `json:"status"`
}

// Same says whether two receipts report the same outcome. Rank, replayed and
// reversed are of the moment.
func (r Receipt) Same(other Receipt) bool {
	before := func(p *int64) int64 {
		if p == nil {
			return -1 << 62
		}
		return *p
	}
	return r.UserID == other.UserID && r.Board == other.Board && r.NewScore == other.NewScore &&
		before(r.PreviousScore) == before(other.PreviousScore) && r.Version == other.Version &&
		before(r.NewSubscore) == before(other.NewSubscore) &&
		before(r.PreviousSubscore) == before(other.PreviousSubscore) &&
		r.Applied == other.Applied && r.RecordedAt.Equal(other.RecordedAt)
}

// Answer is what a write or a look-up came to.
type Answer struct {
	Status   int // of HTTP
	Code     string
	Message  string
	State    string // done, pending or rejected
	Receipts []Receipt
}

// answerBody is everything that a write or a look-up may answer with.
type answerBody struct {
	Receipt
	Receipts  []Receipt `json:"receipts"`
	ErrorCode string    `json:"error_code"`
	Message   string    `json:"message"`
}

func (b answerBody) answer(status int) Answer {
	a := Answer{Status: status, Code: b.ErrorCode, Message: b.Message, State: b.Status}
	switch {
	case len(b.Receipts) > 0:
		a.Receipts, a.State = b.Receipts, "done"
	case b.Status == "done":
		a.Receipts = []Receipt{b.Receipt}
	}
	return a
}

// Submit posts an increment. An error means that nothing is known of it.
func (c *Client) Submit(ctx context.Context, server string, in Increment, async bool) (Answer, error) {
	in.Timestamp = time.Now().UTC().Format(time.RFC3339)
	header := http.Header{}
	if async {
		header.Set("Prefer", "respond-async")
	}
	var body answerBody
	status, err := c.do(ctx, server, http.MethodPost, "/v1/scores/increment", header, in, &body)
	return body.answer(status), err
}

// Batch posts several increments and returns an answer for each.
func (c *Client) Batch(ctx context.Context, server string, items []Increment) ([]Answer, error) {
	for i := range items {
		items[i].Timestamp = time.Now().UTC().Format(time.RFC3339)
	}
	var body struct {
		Results []struct {
			Status   string      `json:"status"`
			Receipt  *Receipt    `json:"receipt"`
			Receipts []Receipt   `json:"receipts"`
			Error    *answerBody `json:"error"`
		} `json:"results"`
		ErrorCode string `json:"error_code"`
	}
	status, err := c.do(
		ctx,
		server,
		http.MethodPost,
		"/v1/scores/increments",
		nil,
		map[string]any{"items": items},
		&body,
	)
	if err != nil {
		return nil, err
	}
	c.Answered.Add(int64(len(items) - 1))
	answers := make([]Answer, len(items))
	for i := range answers {
		if status != http.StatusOK || i >= len(body.Results) {
			answers[i] = Answer{Status: status, Code: body.ErrorCode}
			continue
		}
		r := body.Results[i]
		answers[i] = Answer{Status: http.StatusOK, State: r.Status, Receipts: r.Receipts}
		if r.Receipt != nil {
			answers[i].Receipts = []Receipt{*r.Receipt}
		}
		if r.Error != nil {
			answers[i].Code, answers[i].Message = r.Error.ErrorCode, r.Error.Message
		}
	}
	return answers, nil
}

// Event looks an event up.
func (c *Client) Event(ctx context.Context, server, user, event string) (Answer, error) {
	var body answerBody
	status, err := c.do(ctx, server, http.MethodGet, "/v1/events/"+event+"?user_id="+user, nil, nil, &body)
	return body.answer(status), err
}

// Entry is a row of a board.
type Entry struct {
	Rank     int64  `json:"rank"`
	UserID   string `json:"user_id"`
	Score    int64  `json:"score"`
	Subscore int64  `json:"subscore"` // 0 on a board without subscores, as in a Place and a Row
}

// State is what every read says of the board that it comes from.
type State struct {
	Version        *int64    `json:"version"`
	Epoch          *int64    `json:"epoch"`
	AsOf           time.Time `json:"as_of"`
	AgeMS          int64     `json:"age_ms"`
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason"`
	Code           string    `json:"error_code"`
}

// Top answers GET /v1/leaderboard/top.
type Top struct {
	State
	Board      string  `json:"board"`
	Entries    []Entry `json:"entries"`
	Total      int64   `json:"total"`
	NextCursor string  `json:"next_cursor"`
}

// Top reads a page of a board.
func (c *Client) Top(ctx context.Context, server, board, cursor string, limit int) (top Top, status int, err error) {
	path := fmt.Sprintf("/v1/leaderboard/top?board=%s&limit=%d", board, limit)
	if cursor != "" {
		path += "&cursor=" + cursor
	}
	status, err = c.do(ctx, server, http.MethodGet, path, nil, nil, &top)
	return top, status, err
}

// Place answers a read of one user.
type Place struct {
	State
	UserID   string `json:"user_id"`
	Score    int64  `json:"score"`
	Subscore int64  `json:"subscore"`
	Rank     int64  `json:"rank"`
}

// Place reads a user's standing, waiting for a version where it is not 0.
func (c *Client) Place(
	ctx context.Context,
	server, board, user string,
	version int64,
) (p Place, status int, err error) {
	path := fmt.Sprintf("/v1/users/%s/rank?board=%s", user, board)
	if version > 0 {
		path += "&min_version=" + strconv.FormatInt(version, 10)
	}
	status, err = c.do(ctx, server, http.MethodGet, path, nil, nil, &p)
	return p, status, err
}

// Row is one event in a user's statement.
type Row struct {
	EventID       string    `json:"event_id"`
	Board         string    `json:"board"`
	Delta         int64     `json:"delta"`
	Subscore      int64     `json:"subscore"`
	PreviousScore *int64    `json:"previous_score"`
	NewScore      int64     `json:"new_score"`
	NewSubscore   int64     `json:"new_subscore"`
	Version       int64     `json:"version"`
	RecordedAt    time.Time `json:"recorded_at"`
	Action        string    `json:"action"`
}

// Page reads a page of a user's ledger rows, newest first; none for an unknown user.
func (c *Client) Page(ctx context.Context, server, user, cursor string) (rows []Row, next string, err error) {
	path := "/v1/users/" + user + "/statement?limit=100"
	if cursor != "" {
		path += "&cursor=" + cursor
	}
	var page struct {
		Entries    []Row  `json:"entries"`
		NextCursor string `json:"next_cursor"`
		ErrorCode  string `json:"error_code"`
	}
	status, err := c.do(ctx, server, http.MethodGet, path, nil, nil, &page)
	if err != nil || page.ErrorCode == "not_found" {
		return nil, "", err
	}
	if status != http.StatusOK {
		return nil, "", fmt.Errorf("statement of %s: status %d %s", user, status, page.ErrorCode)
	}
	return page.Entries, page.NextCursor, nil
}

// Statement reads all of a user's ledger rows, oldest first.
func (c *Client) Statement(ctx context.Context, server, user string) ([]Row, error) {
	var rows []Row
	for cursor := ""; ; {
		page, next, err := c.Page(ctx, server, user, cursor)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page...)
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

// Call sends any other request and decodes its answer into out, which may be
// nil.
func (c *Client) Call(ctx context.Context, server, method, path string, in, out any) (status int, err error) {
	return c.do(ctx, server, method, path, nil, in, out)
}

func (c *Client) do(ctx context.Context, server, method, path string, header http.Header, in, out any) (int, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return 0, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, server+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet && c.KeyID != "" {
		c.sign(req, path, body)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	c.Answered.Add(1)
	if resp.StatusCode == http.StatusInternalServerError && c.Broken != nil {
		c.Broken(method, path, answer)
	}
	if out == nil || len(answer) == 0 {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return 0, fmt.Errorf(
			"%s %s: status %d with a body that is not the contract's: %w",
			method,
			path,
			resp.StatusCode,
			err,
		)
	}
	return resp.StatusCode, nil
}

// sign adds the header scheme: METHOD, PATH?QUERY, key, timestamp and the
// body's hash, a line each.
func (c *Client) sign(req *http.Request, path string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(c.Secret))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s", req.Method, path, c.KeyID, at, hex.EncodeToString(sum[:]))
	req.Header.Set("X-Scoreboard-Key", c.KeyID)
	req.Header.Set("X-Scoreboard-Timestamp", at)
	req.Header.Set("X-Scoreboard-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
}
