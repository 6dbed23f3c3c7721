package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// WhatIf asks how boards would stand under other rules.
type WhatIf interface {
	// WhatIf changes nothing. Progress is called with the number of rows read.
	WhatIf(
		ctx context.Context, board *scoreboard.Board, ask *scoreboard.WhatIf, progress func(rows int64),
	) (*scoreboard.WhatIfResult, error)
	// ApplyWhatIf voids the events that the rules reject. It returns a conflict if they are
	// others than those of the digest.
	ApplyWhatIf(
		ctx context.Context, board *scoreboard.Board, ask *scoreboard.WhatIf, digest string, why *scoreboard.AuditEntry,
		progress func(rows int64),
	) (*scoreboard.WhatIfResult, *scoreboard.Void, error)
}

const (
	maxWhatIfBody = 64 << 10 // 200 names of 64 characters, and the rest
	whatIfChanges = 100      // that a result lists by default
	anomalyFactor = 2        // the smallest size_factor
	pathWhatIf    = "/v1/admin/what-if"
)

// whatIfs answers what other rules would have changed.
type whatIfs struct {
	service WhatIf
	catalog Catalog
	runner  *jobRunner
	now     clock
}

// whatIf is POST /v1/admin/what-if: a job that changes nothing, or with apply starts a void,
// whose audit entry is written with it.
func (h *whatIfs) whatIf(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxWhatIfBody)
	if err != nil {
		return err
	}
	var r wire.WhatIfRequest
	if err := decodeObject(c, body, &r); err != nil {
		return err
	}
	ask, err := parseWhatIf(&r, h.now())
	if err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(cmp.Or(r.Board, string(scoreboard.GlobalBoard)))
	if err != nil {
		return err
	}
	board, err := h.catalog.Board(c.Request.Context(), id)
	if err != nil {
		return err
	}
	if err := ask.Rules.CheckFor(board); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, "board:"+string(board.ID), r.Reason)
	why.Detail = whatIfDetail(&r, board)
	job := h.runner.newJob(c, caller, "board:"+string(board.ID))
	job.DryRun, job.Reason = !r.Apply, r.Reason
	return h.runner.runJob(c, job, nil, func(ctx context.Context, w *jobWriter) (wire.JobLine, error) {
		progress := func(rows int64) { w.progress(wire.JobLine{Board: string(board.ID), Records: rows}) }
		var result *scoreboard.WhatIfResult
		var void *scoreboard.Void
		var err error
		if r.Apply {
			result, void, err = h.service.ApplyWhatIf(ctx, board, ask, r.Digest, why, progress)
		} else {
			result, err = h.service.WhatIf(ctx, board, ask, progress)
		}
		if err != nil {
			return wire.JobLine{}, err
		}
		out := whatIfJSON(result, board)
		if void != nil {
			v := voidJSON(void)
			out.Void = &v
		}
		return wire.JobLine{WhatIf: out}, nil
	})
}

// whatIfDetail is the request without the ids of users: an erasure does not change the details
// of the audit trail.
func whatIfDetail(r *wire.WhatIfRequest, board *scoreboard.Board) []byte {
	kept := *r
	kept.Board, kept.Reason, kept.Rules.VoidUsers = string(board.ID), "", nil
	return auditDetail(struct {
		wire.WhatIfRequest
		VoidUsers int `json:"void_users,omitempty"`
	}{kept, len(r.Rules.VoidUsers)})
}

// parseWhatIf returns what a request asks, or an invalid_request.
func parseWhatIf(r *wire.WhatIfRequest, now time.Time) (*scoreboard.WhatIf, error) {
	rules, err := parseWhatIfRules(&r.Rules)
	if err != nil {
		return nil, err
	}
	digest, notHex := hex.DecodeString(r.Digest)
	switch {
	case r.Since.IsZero():
		return nil, scoreboard.Invalid("since", "since is required")
	case r.Since.After(now):
		return nil, scoreboard.Invalid("since", "since must not be in the future")
	case r.Limit < 0 || r.Limit > scoreboard.MaxWhatIfChanges:
		return nil, scoreboard.Invalid("limit", "limit must be an integer from 1 to %d", scoreboard.MaxWhatIfChanges)
	case !r.Apply && (r.Digest != "" || r.Reason != ""):
		return nil, scoreboard.Invalid("apply", "digest and reason require apply")
	case r.Apply && (rules.Mode != "" || rules.Ties != ""):
		return nil, scoreboard.Invalid("apply",
			"mode and ties cannot be applied: a void only removes events; leave them out to apply the other rules")
	case r.Apply && (notHex != nil || len(digest) != sha256.Size):
		return nil, scoreboard.Invalid("digest", "digest must be the digest of the result to apply")
	}
	if r.Apply {
		if err := scoreboard.CheckReason(r.Reason); err != nil {
			return nil, err
		}
	}
	return &scoreboard.WhatIf{
		Since: r.Since.UTC().Truncate(time.Microsecond), Rules: *rules, Limit: cmp.Or(r.Limit, whatIfChanges),
	}, nil
}

func parseWhatIfRules(r *wire.WhatIfRules) (*scoreboard.WhatIfRules, error) {
	out := &scoreboard.WhatIfRules{
		MinDelta: r.MinDelta, MaxDelta: r.MaxDelta, Mode: scoreboard.Mode(r.Mode), Ties: scoreboard.Ties(r.Ties),
		VoidKeys: r.VoidKeys,
	}
	var err error
	if out.Cooldown, err = duration("cooldown", r.Cooldown, 0, scoreboard.MaxRuleWindow); err != nil {
		return nil, err
	}
	for _, name := range r.VoidUsers {
		user, err := scoreboard.ParseUserID(name)
		if err != nil {
			return nil, scoreboard.Invalid("void_users", "invalid user %.100q in void_users", name)
		}
		out.VoidUsers = append(out.VoidUsers, user)
	}
	for _, key := range r.VoidKeys {
		if key == "" || len(key) > maxKeyIDLength {
			return nil, scoreboard.Invalid("void_keys", "invalid key %.100q in void_keys", key)
		}
	}
	if r.Anomaly != nil {
		if out.Anomalies, err = parseAnomalies(r.Anomaly); err != nil {
			return nil, err
		}
	}
	return out, out.Check()
}

// maxKeyIDLength is the longest key id, in bytes.
const maxKeyIDLength = 64

// parseAnomalies returns the anomaly rules of which a threshold is given.
func parseAnomalies(r *wire.WhatIfAnomaly) (a scoreboard.Anomalies, err error) {
	a = scoreboard.Anomalies{
		Size: scoreboard.AnomalyOff, Frequency: scoreboard.AnomalyOff, Amount: scoreboard.AnomalyOff,
		Travel: scoreboard.AnomalyOff,
	}
	if r.SizeFactor != 0 {
		if r.SizeFactor < anomalyFactor {
			return a, scoreboard.Invalid("size_factor", "size_factor must be at least %d", anomalyFactor)
		}
		a.Size, a.SizeFactor = scoreboard.AnomalyEnforce, r.SizeFactor
	}
	if r.FrequencyMax != "" {
		if a.MaxEvents, err = scoreboard.ParseQuota(r.FrequencyMax); err != nil {
			return a, scoreboard.Invalid("frequency_max", "%v", err)
		}
		if a.MaxEvents.N > scoreboard.MaxQuota {
			return a, scoreboard.Invalid("frequency_max",
				"frequency_max must be at most %d events", scoreboard.MaxQuota)
		}
		a.Frequency = scoreboard.AnomalyEnforce
	}
	if r.AmountMax != "" {
		if a.MaxPoints, err = scoreboard.ParseQuota(r.AmountMax); err != nil {
			return a, scoreboard.Invalid("amount_max", "%v", err)
		}
		a.Amount = scoreboard.AnomalyEnforce
	}
	a.TravelWindow, err = duration("travel_window", r.TravelWindow, 0, scoreboard.MaxRuleWindow)
	if a.TravelWindow > 0 {
		a.Travel = scoreboard.AnomalyEnforce
	}
	return a, err
}

func whatIfJSON(r *scoreboard.WhatIfResult, board *scoreboard.Board) *wire.WhatIf {
	out := &wire.WhatIf{
		Board: string(r.Board), Since: r.Since, AsOf: r.AsOf, Users: r.Users,
		Evaluated: r.Evaluated, Rejected: r.Rejected,
		RejectedBy: r.RejectedBy, RejectedUsers: r.Losers, Up: r.Up, Down: r.Down, Left: r.Left, Changed: r.Changed,
		Changes: []wire.WhatIfChange{}, Digest: r.Digest, Limits: append([]string{}, r.Limits...),
	}
	for i := range r.Changes {
		change := &r.Changes[i]
		row := wire.WhatIfChange{
			UserID: string(change.User), Rank: change.Rank, NewRank: change.NewRank, Score: int64(change.Score),
			Rejected: change.Rejected, Subscore: subscoreJSON(board, change.Subscore),
		}
		if change.NewRank > 0 {
			score := int64(change.NewScore)
			row.NewScore, row.NewSubscore = &score, subscoreJSON(board, change.NewSubscore)
		}
		for _, e := range change.Deciding {
			row.Events = append(row.Events, wire.WhatIfEvent{
				EventID: cmp.Or(e.Text, scoreboard.FormatUUID(e.Event)), Delta: e.Delta, RecordedAt: e.At, Rule: e.Rule,
				Detail: e.Detail,
			})
		}
		out.Changes = append(out.Changes, row)
	}
	return out
}
