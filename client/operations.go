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

	"github.com/scoreboard/scoreboard/client/wire"
)

// What an operator works with. It needs the scope score:operate; docs/security.md lists the
// changes that need score:admin.
type (
	// Status is the status of a server node.
	Status = wire.Status
	// Outbox is the backlog of changes to publish.
	Outbox = wire.Outbox
	// DeadLetter is an event that could not be applied.
	DeadLetter = wire.DeadLetter
	// DeadLetters is a page of dead letters.
	DeadLetters = wire.DeadLetters
	// RankingStatus is the status of a board's ranking.
	RankingStatus = wire.RankingStatus
	// JobRequest selects the boards and users of a job.
	JobRequest = wire.JobRequest
	// ReplayRequest selects what to replay.
	ReplayRequest = wire.ReplayRequest
	// Replayed counts what a replay changed.
	Replayed = wire.Replayed
	// WhatIf is how a board would stand under other rules.
	WhatIf = wire.WhatIf
	// JobLine is the progress or the result of a job.
	JobLine = wire.JobLine
	// Archived lists the ledger partitions that were moved to the archive.
	Archived = wire.Archived
)

// Status reads the status of the node that answers, and of a board's ranking (global
// when empty).
func (c *Client) Status(ctx context.Context, board string) (Status, error) {
	var s Status
	err := c.do(ctx,
		call{
			op: "read the server's status", method: http.MethodGet, path: "/v1/admin/status",
			query: boardQuery(board),
		}, &s)
	return s, err
}

// Outbox reads the outbox's backlog.
func (c *Client) Outbox(ctx context.Context) (Outbox, error) {
	var o Outbox
	err := c.do(ctx, call{op: "read the outbox's status", method: http.MethodGet, path: "/v1/admin/outbox"}, &o)
	return o, err
}

// RankingStatus reads the status of a board's ranking.
func (c *Client) RankingStatus(ctx context.Context, board string) (RankingStatus, error) {
	var k RankingStatus
	err := c.do(ctx, call{
		op: "read the ranking's status of board " + board, method: http.MethodGet,
		path: "/v1/admin/boards/" + url.PathEscape(board) + "/ranking",
	}, &k)
	return k, err
}

// DeadLetters lists dead letters after an id, oldest first, without their values.
func (c *Client) DeadLetters(ctx context.Context, after int64) (DeadLetters, error) {
	var l DeadLetters
	err := c.do(ctx, call{
		op: "list the dead letters", method: http.MethodGet, path: "/v1/admin/dead-letters",
		query: url.Values{"after": {strconv.FormatInt(after, 10)}},
	}, &l)
	return l, err
}

// DeadLetter reads one dead letter with its value.
func (c *Client) DeadLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "read", http.MethodGet, id, "", nil)
}

// RequeueLetter publishes a dead letter again.
func (c *Client) RequeueLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "requeue", http.MethodPost, id, "/requeue", because(ctx))
}

// DropLetter deletes a dead letter.
func (c *Client) DropLetter(ctx context.Context, id int64) (DeadLetter, error) {
	return c.letter(ctx, "drop", http.MethodDelete, id, "", because(ctx))
}

func (c *Client) letter(
	ctx context.Context, verb, method string, id int64, action string, query url.Values,
) (DeadLetter, error) {
	var l DeadLetter
	err := c.do(ctx, call{
		op: fmt.Sprintf("%s dead letter %d", verb, id), method: method, sign: method != http.MethodGet,
		once: method != http.MethodGet,
		path: "/v1/admin/dead-letters/" + strconv.FormatInt(id, 10) + action, query: query,
	}, &l)
	return l, err
}

// Rebuild rebuilds rankings from PostgreSQL while they stay online.
func (c *Client) Rebuild(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "rebuild", "rebuild", because(ctx), r, progress)
}

// Verify compares ledger, scores and ranking without changing them.
func (c *Client) Verify(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "verify", "verify", nil, r, progress)
}

// Reconcile compares scores and ranking, and repairs the ranking if requested.
func (c *Client) Reconcile(ctx context.Context, r JobRequest, progress func(JobLine)) (JobLine, error) {
	return c.job(ctx, "reconcile", "reconcile", because(ctx), r, progress)
}

// Replay applies retained events or dead letters again; a dry run only counts what
// would change.
func (c *Client) Replay(ctx context.Context, r ReplayRequest, progress func(JobLine)) (Replayed, error) {
	line, err := c.job(ctx, "replay", "replay", because(ctx), r, progress)
	if err != nil || line.Replayed == nil {
		return Replayed{}, err
	}
	return *line.Replayed, nil
}

// WhatIfRequest asks how a board would stand under other rules, which are JSON as in
// docs/what-if.md: the server checks them as they are written.
type WhatIfRequest struct {
	wire.WhatIfRequest
	Rules json.RawMessage `json:"rules"`
}

// WhatIf asks how a board would stand if other rules had been in force. It changes nothing,
// unless the request applies a result: then the error is a conflict if the rules reject other
// events than those of the result.
func (c *Client) WhatIf(ctx context.Context, r WhatIfRequest, progress func(JobLine)) (WhatIf, error) {
	line, err := c.job(ctx, "ask what other rules would change", "what-if", nil, r, progress)
	if err != nil || line.WhatIf == nil {
		return WhatIf{}, err
	}
	return *line.WhatIf, nil
}

// ArchiveLedger moves old partitions of the ledger to the archive; a dry run only
// lists them.
func (c *Client) ArchiveLedger(ctx context.Context, dry bool) (Archived, error) {
	line, err := c.job(ctx, "archive the ledger", "ledger/archive", because(ctx),
		wire.ArchiveRequest{DryRun: dry}, func(JobLine) {})
	if err != nil || line.Archived == nil {
		return Archived{}, err
	}
	return *line.Archived, nil
}

// CheckpointRequest selects a board and a moment that is not in the database any more.
type CheckpointRequest = wire.CheckpointRequest

// KeptCheckpoint is what was read from the archive, and how long it is kept.
type KeptCheckpoint = wire.KeptCheckpoint

// CheckpointArchived has the server read its archive for a board at a moment. Top, Score and
// Around with the same At are then answered for some days.
func (c *Client) CheckpointArchived(
	ctx context.Context, r CheckpointRequest, progress func(JobLine),
) (KeptCheckpoint, error) {
	line, err := c.job(ctx, "read the archive", "ledger/checkpoint", because(ctx), r, progress)
	if err != nil || line.Checkpoint == nil {
		return KeptCheckpoint{}, err
	}
	return *line.Checkpoint, nil
}

// jobSilence limits the time between two lines of a job. A job reports every second,
// except while it compares users whose scores keep changing.
const jobSilence = 2 * time.Minute

var errNoResult = errors.New("the response ended without a result")

// job starts a job, without retries, and follows its lines. Only the time between
// lines is limited; when ctx ends, so does the job.
func (c *Client) job(
	ctx context.Context, op, path string, query url.Values, r any, progress func(JobLine),
) (JobLine, error) {
	fail := func(e *Error) (JobLine, error) {
		e.Op, e.Attempts = op, 1
		return JobLine{}, e
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(jobSilence, cancel)
	defer watchdog.Stop()
	body, err := json.Marshal(r)
	if err != nil {
		return fail(connectionError(err))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url("/v1/admin/"+path, query).String(),
		bytes.NewReader(body))
	if err != nil {
		return fail(connectionError(err))
	}
	if err := c.prepare(req); err != nil {
		return fail(connectionError(err))
	}
	req.Header.Set("Content-Type", "application/json")
	c.signer.Headers(req, body, c.now())
	res, err := c.http.Do(req)
	if err != nil {
		return fail(connectionError(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		response, _ := io.ReadAll(io.LimitReader(res.Body, maxResponse))
		return fail(responseError(res, response, c.now()))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxResponse)
	for lines.Scan() {
		watchdog.Reset(jobSilence)
		var line JobLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fail(connectionError(fmt.Errorf("read a line of the response: %w", err)))
		}
		switch line.Type {
		case "progress":
			progress(line)
		case "result":
			return line, nil
		case "error":
			return fail(&Error{
				Status: res.StatusCode, Code: wire.Code(line.Error.ErrorCode), Message: line.Error.Message,
				RequestID: line.Error.RequestID,
			})
		}
	}
	return fail(connectionError(errors.Join(errNoResult, lines.Err())))
}

// Checks is the result of a server's checks of itself and its backends.
type Checks = wire.Checks

// Checks runs the server's checks. It needs the scope score:operate.
func (c *Client) Checks(ctx context.Context) (Checks, error) {
	var found Checks
	err := c.do(ctx, call{op: "run the server's checks", method: http.MethodGet, path: "/v1/admin/checks"}, &found)
	return found, err
}
