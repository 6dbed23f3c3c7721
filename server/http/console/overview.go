package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// pipelineStage is a stage of an increment's path, as the diagram shows it.
type pipelineStage struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Tone   string `json:"tone"` // good, warn, bad, or "" for unknown
	State  string `json:"state"`
	Value  string `json:"value"`
	Unit   string `json:"unit"`
	Detail string `json:"detail"`
}

// overviewState is what the overview shows, and what its script asks for again.
type overviewState struct {
	Board    string          `json:"board"`
	Node     string          `json:"node"`
	Version  string          `json:"version"`
	Roles    string          `json:"roles"`
	Uptime   string          `json:"uptime"`
	Summary  string          `json:"summary"`
	Tone     string          `json:"tone"`
	Stages   []pipelineStage `json:"stages"`
	Findings []wire.Check    `json:"findings"`
	Checks   []wire.Check    `json:"checks"`
	Samples  map[string]any  `json:"samples"` // of the charts; null where unknown
	// History is the samples of the node's last hour, as rows of a time and the values of samples; only if asked for.
	History  [][]any  `json:"history,omitempty"`
	Problems []string `json:"problems"`
}

// checksOf names the checks of each stage. Checks of none are listed below the diagram.
var checksOf = map[string][]string{
	"api": {"configuration", "settings"}, "ledger": {"postgres", "schema", "database role", "durability", "disk"},
	"outbox": {"outbox"}, "transport": {"kafka", "lag", "mirror"}, "ranking": {"redis", "redis server", "history"},
	"realtime": {},
}

// views are the pages that show what the API answers.
type views struct {
	screen  *renderer
	caller  *caller
	imports *importRuns
	now     func() time.Time
}

// overview shows the path of an increment, with the state of each stage.
func (c *views) overview(w http.ResponseWriter, r *http.Request, s *session) error {
	if !s.May(scopeOperate) {
		http.Redirect(w, r, Root+"/boards", http.StatusSeeOther)
		return nil
	}
	state, err := c.readOverview(r, s)
	if err != nil {
		return err
	}
	return c.screen.show(w, r, s, "overview", &view{Title: "Overview", Section: "overview", Data: state})
}

// overviewData is the state of the overview as JSON.
func (c *views) overviewData(w http.ResponseWriter, r *http.Request, s *session) error {
	state, err := c.readOverview(r, s)
	if err != nil {
		f := failureOf(err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		return json.NewEncoder(w).Encode(map[string]string{"message": f.Message, "next": f.Next})
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(state)
}

// readOverview asks the API for the state of everything.
func (c *views) readOverview(r *http.Request, s *session) (*overviewState, error) {
	k := c.caller.as(r, s)
	board := r.URL.Query().Get("board")
	if board == "" {
		board = "global"
	}
	var status wire.Status
	var checks wire.Checks
	var statusErr, checksErr error
	var both sync.WaitGroup
	asked := url.Values{"board": {board}}
	if r.URL.Query().Get("history") != "" {
		asked.Set("history", "1")
	}
	both.Go(func() { statusErr = k.get("/v1/admin/status", asked, &status) })
	both.Go(func() { checksErr = k.get("/v1/admin/checks", nil, &checks) })
	both.Wait()
	if statusErr != nil {
		return nil, statusErr
	}
	if checksErr != nil {
		return nil, checksErr
	}
	return newOverview(board, &status, &checks), nil
}

func newOverview(board string, status *wire.Status, checks *wire.Checks) *overviewState {
	o := &overviewState{
		Board: board, Node: status.Node, Version: checks.Version, Roles: strings.Join(status.Roles, ", "),
		Uptime: formatSeconds(status.UptimeSeconds), Checks: checks.Checks, Problems: status.Problems,
		Samples: map[string]any{
			"rate":   status.IncrementsPerSecond,
			"p95":    status.LatencyP95MS,
			"outbox": status.OutboxDepth,
			"lag":    totalLag(status),
		},
	}
	for _, s := range status.History {
		o.History = append(o.History, []any{
			s.At.UnixMilli(), s.IncrementsPerSecond, s.LatencyP95MS, s.OutboxDepth, s.RecordsBehind,
		})
	}
	o.Stages = []pipelineStage{
		apiStage(status), ledgerStage(status), outboxStage(status), transportStage(status), rankingStage(status),
		realtimeStage(status),
	}
	for i := range o.Stages {
		colour(&o.Stages[i], checks.Checks)
	}
	o.Tone, o.Summary = "good", "Every stage works."
	for _, c := range checks.Checks {
		switch c.Status {
		case wire.CheckFail:
			o.Findings = slices.Insert(o.Findings, 0, c)
			o.Tone = "bad"
		case wire.CheckWarn:
			o.Findings = append(o.Findings, c)
			if o.Tone == "good" {
				o.Tone = "warn"
			}
		}
	}
	for _, st := range o.Stages {
		if st.Tone == "bad" || st.Tone == "warn" && o.Tone == "good" {
			o.Tone = st.Tone
		}
	}
	switch {
	case o.Tone == "bad":
		o.Summary = "Something needs attention now."
	case o.Tone == "warn":
		o.Summary = "Working, with warnings."
	}
	return o
}

// colour colours a stage by the worst of its checks.
func colour(s *pipelineStage, checks []wire.Check) {
	worst := map[string]int{"": 0, "good": 0, "warn": 1, "bad": 2}
	for _, c := range checks {
		if !slices.Contains(checksOf[s.ID], c.Name) || c.Status == wire.CheckSkipped {
			continue
		}
		tone := tones[c.Status]
		if s.Tone == "" || worst[tone] > worst[s.Tone] {
			s.Tone = tone
			if tone != "good" {
				s.Detail = "see " + c.Name + " below"
			}
		}
	}
	if s.State == "" {
		s.State = map[string]string{"good": "working", "warn": "warning", "bad": "failing", "": "unknown"}[s.Tone]
	}
}

func apiStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "api", Label: "API", Value: "–", Unit: "increments/s", Tone: "good"}
	if s.IncrementsPerSecond != nil {
		st.Value = fmt.Sprintf("%.1f", *s.IncrementsPerSecond)
	}
	return st
}

func ledgerStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "ledger", Label: "Ledger", Value: "–", Unit: "ms, write p95"}
	if s.LatencyP95MS != nil {
		st.Value = fmt.Sprintf("%.1f", *s.LatencyP95MS)
	}
	return st
}

func outboxStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "outbox", Label: "Outbox", Value: "–", Unit: "changes pending"}
	if s.OutboxDepth != nil {
		st.Value = formatNumber(*s.OutboxDepth)
	}
	if s.OutboxOldestAgeMS != nil && *s.OutboxOldestAgeMS > 0 {
		st.Detail = "oldest: " + formatNumber(*s.OutboxOldestAgeMS) + " ms"
	}
	return st
}

func transportStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "transport", Label: "Transport", Value: "–", Unit: "records behind"}
	if lag := totalLag(s); lag != nil {
		st.Value = formatNumber(*lag)
	}
	if len(s.DamagedLogs) > 0 {
		st.Tone, st.Detail = "warn", "a log was cut or replaced"
	}
	return st
}

// totalLag is the lag of all topics; nil if this node consumes none.
func totalLag(s *wire.Status) *int64 {
	if len(s.ConsumerLag) == 0 {
		return nil
	}
	sum := int64(0)
	for _, n := range s.ConsumerLag {
		sum += max(n, 0)
	}
	return &sum
}

func rankingStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "ranking", Label: "Ranking", Value: "–", Unit: "users"}
	if b := s.Board; b != nil {
		st.Value, st.State, st.Tone = formatNumber(b.Members), stateText(b), tones[b.ShownState()]
		if b.AgeMS != nil {
			st.Detail = formatNumber(*b.AgeMS) + " ms behind"
		}
	}
	if p := s.Parity; p != nil {
		st.Detail = strings.TrimPrefix(st.Detail+fmt.Sprintf(", parity %.4g\u00a0%%", p.Percent), ", ")
	}
	return st
}

// stateText is the state of a ranking in words.
func stateText(s *wire.RankingStatus) string {
	return strings.ToLower(strings.ReplaceAll(s.ShownState(), "_", " "))
}

func realtimeStage(s *wire.Status) pipelineStage {
	st := pipelineStage{ID: "realtime", Label: "Realtime", Value: "–", Unit: "connections"}
	if slices.Contains(s.Roles, "gateway") {
		sum := int64(0)
		for _, n := range s.Connections {
			sum += n
		}
		st.Value, st.Tone = formatNumber(sum), "good"
	}
	return st
}

// formatSeconds shows a duration by its two largest units.
func formatSeconds(n int64) string {
	switch {
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600:
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	case n < 86400:
		return fmt.Sprintf("%d h %d min", n/3600, n%3600/60)
	}
	return fmt.Sprintf("%d d %d h", n/86400, n%86400/3600)
}
