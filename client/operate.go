package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What an operator works with. All of it needs the scope score:admin.
type (
	// Status is how a server feels.
	Status = protocol.Status
	// Outbox is what waits to be published.
	Outbox = protocol.Outbox
	// DeadLetter is what could not be carried.
	DeadLetter = protocol.DeadLetter
	// DeadLetters is a page of them.
	DeadLetters = protocol.DeadLetters
	// Condition is how a board's ranking is.
	Condition = protocol.Condition
	// JobRequest says of what a job is.
	JobRequest = protocol.JobRequest
	// ReplayRequest says what is replayed.
	ReplayRequest = protocol.ReplayRequest
	// Replayed says what a replay has changed.
	Replayed = protocol.Replayed
	// JobLine is a sign of a job: progress or its result.
	JobLine = protocol.JobLine
	// Archived is what of the ledger went into files.
	Archived = protocol.Archived
)

// Status says how the server feels, and a board's ranking (global when empty).
func (c *Client) Status(ctx context.Context, board string) (Status, error) {
	var s Status
	err := c.do(ctx, call{op: "read the server's status", method: http.MethodGet, path: "/v1/admin/status", query: boardQuery(board)}, &s)
	return s, err
}

// Outbox says what waits to be published, and why.
func (c *Client) Outbox(ctx context.Context) (Outbox, error) {
	var o Outbox
	err := c.do(ctx, call{op: "read the outbox's status", method: http.MethodGet, path: "/v1/admin/outbox"}, &o)
	return o, err
}

// Condition says how a board's ranking is.
func (c *Client) Condition(ctx context.Context, board string) (Condition, error) {
	var k Condition
	err := c.do(ctx, call{
		op: "read the condition of board " + board, method: http.MethodGet, path: "/v1/admin/boards/" + url.PathEscape(board) + "/ranking",
	}, &k)
	return k, err
}

// DeadLetters lists the letters behind an id, oldest first, without values.
func (c *Client) DeadLetters(ctx context.Context, after int64) (DeadLetters, error) {
	var l DeadLetters
	err := c.do(ctx, call{
		op: "list the dead letters", method: http.MethodGet, path: "/v1/admin/dead-letters",
		query: url.Values{"after": {strconv.FormatInt(after, 10)}},
	}, &l)
	return l, err
}

// DeadLetter returns one letter with its value.
func (c *Client) DeadLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "read", http.MethodGet, id, "")
}

// RequeueLetter has a letter carried again.
func (c *Client) RequeueLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "requeue", http.MethodPost, id, "/requeue")
}

// DropLetter ends a letter for good.
func (c *Client) DropLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "drop", http.MethodDelete, id, "")
}

func (c *Client) letter(ctx context.Context, verb, method string, id int64, action string) (DeadLetter, error) {
	var l DeadLetter
	err := c.do(ctx, call{
		op: fmt.Sprintf("%s dead letter %d", verb, id), method: method, sign: method != http.MethodGet, once: method != http.MethodGet,
		path: "/v1/admin/dead-letters/" + strconv.FormatInt(id, 10) + action,
	}, &l)
	return l, err
}

// Rebuild makes the rankings of boards anew, beside the live ones.
func (c *Client) Rebuild(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "rebuild", "rebuild", r, progress)
}

// Verify compares ledger, scores and ranking, and changes nothing.
func (c *Client) Verify(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "verify", "verify", r, progress)
}

// Reconcile compares scores and ranking, and puts the ranking right where the
// request says so.
func (c *Client) Reconcile(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "reconcile", "reconcile", r, progress)
}

// Replay applies again what the transport still holds, or dead letters; a dry
// run counts what would change.
func (c *Client) Replay(ctx context.Context, r ReplayRequest, progress func(JobLine)) (Replayed, error) {
	line, err := c.job(ctx, "replay", "replay", r, progress)
	if err != nil || line.Replayed == nil {
		return Replayed{}, err
	}
	return *line.Replayed, nil
}

// ArchiveLedger moves old partitions of the ledger into files; a dry run lists
// them.
func (c *Client) ArchiveLedger(ctx context.Context, dry bool) (Archived, error) {
	line, err := c.job(ctx, "archive the ledger", "ledger/archive", protocol.ArchiveRequest{DryRun: dry}, func(JobLine) {})
	if err != nil || line.Archived == nil {
		return Archived{}, err
	}
	return *line.Archived, nil
}

// jobSilence is how long a job may be silent: it says something every second
// but while it compares what does not settle.
const jobSilence = 2 * time.Minute

var errNoResult = errors.New("the answer ended without a result")

// job asks for a job once and follows its lines. It has no time limit, only
// one of silence; when ctx ends, so does the job.
func (c *Client) job(ctx context.Context, op, path string, r any, progress func(JobLine)) (JobLine, error) {
	fail := func(e *Error) (JobLine, error) {
		e.Op, e.Attempts = op, 1
		return JobLine{}, e
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(jobSilence, cancel)
	defer silence.Stop()
	body, err := json.Marshal(r)
	if err != nil {
		return fail(broken(err))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url("/v1/admin/"+path, nil).String(), bytes.NewReader(body))
	if err != nil {
		return fail(broken(err))
	}
	if err := c.prepare(req); err != nil {
		return fail(broken(err))
	}
	req.Header.Set("Content-Type", "application/json")
	c.signer.Headers(req, body, c.now())
	res, err := c.http.Do(req)
	if err != nil {
		return fail(broken(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return fail(refusal(res, answer, c.now()))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		silence.Reset(jobSilence)
		var line JobLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fail(broken(fmt.Errorf("read a line of the answer: %w", err)))
		}
		switch line.Type {
		case "progress":
			progress(line)
		case "result":
			return line, nil
		case "error":
			return fail(&Error{
				Status: res.StatusCode, Code: scoreboard.Code(line.Error.ErrorCode), Message: line.Error.Message, RequestID: line.Error.RequestID,
			})
		}
	}
	return fail(broken(errors.Join(errNoResult, lines.Err())))
}

// Checks is what a server finds when it looks at itself and its backends.
type Checks = protocol.Checks

// Checks asks the server what it finds. It needs the scope score:admin.
func (c *Client) Checks(ctx context.Context) (Checks, error) {
	var found Checks
	err := c.do(ctx, call{op: "ask for the server's checks", method: http.MethodGet, path: "/v1/admin/checks"}, &found)
	return found, err
}
