package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// jobTime is the longest time that this process keeps a job's request open.
const jobTime = 6 * time.Hour

// background is what this process does for people beyond their requests. The API bounds how
// many jobs run at once, and stores their progress and results for all nodes.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
	mu     sync.Mutex // none begins after the end
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Run stops all jobs when ctx ends, and returns when they have ended.
func (c *Console) Run(ctx context.Context) error {
	<-ctx.Done()
	c.background.mu.Lock()
	c.background.cancel()
	c.background.mu.Unlock()
	c.background.all.Wait()
	return nil
}

// do runs something for a person until it ends or this process does, or returns a failure.
func (b *background) do(k *call, run func(*call)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return &failure{
			Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "The server is stopping.",
			Next: "Try again in a minute.",
		}
	}
	ctx, cancel := context.WithTimeout(b.ctx, jobTime)
	b.all.Go(func() {
		defer cancel()
		run(k.detached(ctx))
	})
	return nil
}

// startJob has the API run a job, and returns its number once it runs.
func (c *changeForms) startJob(k *call, operation string, q request) (string, error) {
	method, path, err := k.operations.target(operation, q.ids)
	if err != nil {
		return "", err
	}
	answer := &jobAnswer{answerBuffer: answerBuffer{header: make(http.Header)}, began: make(chan struct{})}
	ended := make(chan error, 1)
	if err := c.background.do(k, func(k *call) {
		err := k.send(k.ctx, answer, method, path, q.query, q.body)
		if err == nil && answer.status >= http.StatusBadRequest {
			err = readFailure(answer.status, answer.body.Bytes())
		}
		ended <- err
	}); err != nil {
		return "", err
	}
	select {
	case <-answer.began:
		return answer.id, nil
	case err := <-ended:
		if err == nil {
			err = errors.New("a job's response has no beginning")
		}
		return "", err
	case <-k.ctx.Done():
		return "", k.ctx.Err()
	}
}

// jobAnswer notes the beginning of a successful answer and drops its lines, which the API
// stores. It keeps an error answer.
type jobAnswer struct {
	answerBuffer
	began chan struct{}
	id    string // of the job, once it has begun
}

// WriteHeader implements http.ResponseWriter.
func (w *jobAnswer) WriteHeader(status int) {
	first := w.status == 0
	w.answerBuffer.WriteHeader(status)
	if first && status < http.StatusBadRequest {
		w.id = w.header.Get("X-Job-Id")
		close(w.began)
	}
}

// Write implements http.ResponseWriter.
func (w *jobAnswer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status >= http.StatusBadRequest {
		return w.answerBuffer.Write(b)
	}
	return len(b), nil
}

func jobHref(id int64) string { return Root + "/jobs/" + strconv.FormatInt(id, 10) }

// jobTitles name the kinds of jobs.
var jobTitles = map[string]string{
	"rebuild": "Rebuild", "verify": "Verification", "reconcile": "Repair", "replay": "Replay", "what-if": "What-if",
	"archive": "Archiving", "checkpoint": "Checkpoint from the archive",
}

func jobTitle(j *wire.Job) string {
	title := jobTitles[j.Kind]
	if title == "" {
		title = j.Kind
	}
	if j.DryRun {
		title += " (dry run)"
	}
	return title
}

var jobList = &list[wire.Job]{
	name: "jobs", path: Root + "/jobs", cursor: "before", empty: "No job has run in the last 30 days.",
	about: "Rebuilds, verifications, repairs, replays and other long work of all nodes in the last 30 days.",
	columns: []column[wire.Job]{
		{"job_id", "Job", func(j wire.Job) cell { return reference(jobHref(j.JobID), j.JobID) }},
		{"state", "State", func(j wire.Job) cell { return badge(j.State) }},
		{"kind", "Kind", func(j wire.Job) cell { return text(jobTitle(&j)) }},
		{"target", "Target", func(j wire.Job) cell { return jobTarget(j.Target) }},
		{"who", "By", func(j wire.Job) cell { return text(j.Who) }},
		{"started_at", "Started", func(j wire.Job) cell { return timeOf(j.StartedAt) }},
		{"runtime_seconds", "Runtime", func(j wire.Job) cell { return jobRuntime(&j) }},
		{"node", "Node", func(j wire.Job) cell { return idOf("", j.Node) }},
		{"reason", "Reason", func(j wire.Job) cell { return text(j.Reason) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.Job, string, error) {
		var out wire.Jobs
		err := k.get("/v1/admin/jobs", q, &out)
		return out.Jobs, cursorOf(out.NextBefore), err
	},
}

// jobRuntime is how long a job took; nothing while it runs, because a table is not kept current.
func jobRuntime(j *wire.Job) cell {
	if j.EndedAt == nil {
		return cell{Text: "–", Raw: " ", Kind: "number"}
	}
	seconds := int64(j.EndedAt.Sub(j.StartedAt).Seconds())
	return cell{Text: formatSeconds(seconds), Raw: strconv.FormatInt(seconds, 10), Kind: "number"}
}

// targetText shows the target of an audit entry.
func targetText(target string) string {
	kind, name, _ := strings.Cut(target, ":")
	if name == "*" {
		return map[string]string{"board": "all boards", "ranking": "all rankings", "ledger": "ledger"}[kind]
	}
	return kind + " " + name
}

// jobTarget shows the target of a job, and leads to its page if it has one.
func jobTarget(target string) cell {
	v := targetOf(target)
	v.Text = targetText(target)
	return v
}

// jobsView is the page of the jobs.
type jobsView struct {
	Table  *tableView
	Active bool
}

// jobs lists the jobs of all nodes.
func (c *views) jobs(w http.ResponseWriter, r *http.Request, s *session) error {
	t, done, err := tableOrExport(jobList, c.caller.as(r, s), w, r)
	if done || err != nil {
		return err
	}
	return c.screen.show(w, r, s, "jobs", &view{
		Title: "Jobs", Section: "jobs", Data: &jobsView{Table: t, Active: hasRunning(t)},
		Actions: offer(s, changeLink("verify", "Verify"), changeLink("reconcile", "Repair rankings"),
			changeLink("rebuild", "Rebuild"), changeLink("replay", "Replay")),
	})
}

func hasRunning(t *tableView) bool {
	for _, row := range t.Rows {
		if row[1].Text == "running" {
			return true
		}
	}
	return false
}

// jobView is the page of a job.
type jobView struct {
	Active      bool
	Facts       []fact
	Done, Total int64
	Unit        string
	Problem     *failure
	Verified    *wire.Verified
	Rebuilt     []wire.Rebuilt
	Replayed    []fact
}

// job shows a job's progress or result.
func (c *views) job(w http.ResponseWriter, r *http.Request, s *session) error {
	if !s.May(scopeOperate) {
		return lacks(scopeOperate)
	}
	var j wire.Job
	if err := c.caller.as(r, s).get("/v1/admin/jobs/"+url.PathEscape(r.PathValue("id")), nil, &j); err != nil {
		return err
	}
	v := &view{
		Title: jobTitle(&j), Section: "jobs", Data: newJobView(&j, c.now()),
		Crumbs: []link{{Label: "Jobs", Href: Root + "/jobs"}},
	}
	if j.State == "running" || j.State == "lost" {
		v.Actions = offer(s, changeLink("job-stop", "Stop the job", "id", strconv.FormatInt(j.JobID, 10)))
	}
	return c.screen.show(w, r, s, "job", v)
}

func newJobView(j *wire.Job, now time.Time) *jobView {
	d := &jobView{Active: j.State == "running", Unit: "users"}
	until := now
	if j.EndedAt != nil {
		until = *j.EndedAt
	}
	d.Facts = []fact{
		{"State", badge(j.State)},
		{"Target", jobTarget(j.Target)},
		{"Reason", text(j.Reason)},
		{"Started by", text(j.Who)},
		{"Started", timeOf(j.StartedAt)},
		{"Runtime", text(formatSeconds(int64(until.Sub(j.StartedAt).Seconds())))},
		{"Node", code(j.Node)},
	}
	if j.State == "lost" {
		d.Problem = &failure{
			Message: "The node of this job has not reported for 30 seconds: it has stopped or cannot reach " +
				"PostgreSQL.",
			Next: "The data is consistent. Start the job again.",
		}
	}
	line := j.Line
	if line == nil {
		return d
	}
	d.Done, d.Total, d.Verified, d.Rebuilt = line.Users, line.Total, line.Verified, line.Rebuilt
	if line.Records > 0 {
		d.Done, d.Unit = line.Records, "records"
	}
	if line.Board != "" {
		d.Facts = append(d.Facts, fact{"Board", to(boardHref(line.Board), line.Board)})
	}
	if line.Replayed != nil {
		d.Replayed = replayedFacts(line.Replayed)
	}
	if line.Error != nil && j.State == "failed" {
		d.Problem = failureFrom(http.StatusOK, line.Error)
	}
	return d
}

func replayedFacts(r *wire.Replayed) []fact {
	changed := "Applied"
	if r.DryRun {
		changed = "Would be applied"
	}
	return []fact{
		{"Topic", code(r.Topic)},
		{"Records", number(r.Records)},
		{changed, number(r.Changed)},
		{"Already applied", number(r.Unchanged)},
		{"Cannot be applied", number(r.Unreadable + r.TooNew + r.TooOld + r.NoRanking)},
	}
}
