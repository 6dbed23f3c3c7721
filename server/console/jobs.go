package console

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

const (
	maxJobs = 20            // kept in this process, running ones included
	jobTime = 6 * time.Hour // for one job
)

// jobs are the jobs that this process runs for people, and has run.
type jobs struct {
	c      *Console
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu   sync.Mutex
	kept []*job // newest first
}

// job is a rebuild, verification or repair.
type job struct {
	ID, Title, User, Scope, Reason string
	Started                        time.Time

	mu      sync.Mutex
	stop    context.CancelFunc
	state   string // running, done, failed or stopped
	last    protocol.JobLine
	problem *failure
	ended   time.Time
}

func newJobs(c *Console) *jobs {
	j := &jobs{c: c}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	return j
}

// Run stops all jobs when ctx ends, and returns when they have ended.
func (c *Console) Run(ctx context.Context) error {
	<-ctx.Done()
	c.jobs.mu.Lock()
	c.jobs.cancel() // under the lock: none starts afterwards
	c.jobs.mu.Unlock()
	c.jobs.all.Wait()
	return nil
}

// start starts a job and returns its id.
func (j *jobs) start(k *call, s *session, ch *change, v url.Values, q request) (string, error) {
	scope := v.Get("board")
	if scope == "" {
		scope = "all boards"
	}
	if u := v.Get("user"); u != "" {
		scope += ", user " + u
	}
	one := &job{
		ID: strings.ToLower(rand.Text()), Title: ch.title, User: s.User, Scope: scope, Reason: v.Get(reasonField),
		Started: j.c.Now(), state: "running",
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ctx.Err() != nil {
		return "", &failure{
			Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "The server is stopping.",
			Next: "Try again in a minute.",
		}
	}
	if len(j.kept) >= maxJobs && !j.forget() {
		return "", &failure{
			Status: http.StatusConflict, Code: "conflict", Message: "Too many jobs run already.",
			Next: "Wait until one has ended, or stop one.",
		}
	}
	var ctx context.Context
	ctx, one.stop = context.WithTimeout(j.ctx, jobTime)
	j.kept = append([]*job{one}, j.kept...)
	k = k.detached(ctx)
	j.all.Go(func() {
		defer one.stop()
		one.run(k, q)
	})
	return one.ID, nil
}

// forget drops the oldest job that has ended.
func (j *jobs) forget() bool {
	for i := len(j.kept) - 1; i >= 0; i-- {
		if j.kept[i].State() != "running" {
			j.kept = append(j.kept[:i:i], j.kept[i+1:]...)
			return true
		}
	}
	return false
}

func (j *jobs) list() []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]*job(nil), j.kept...)
}

func (j *jobs) find(id string) *job {
	for _, one := range j.list() {
		if one.ID == id {
			return one
		}
	}
	return nil
}

// run has the API run the job, and follows its lines.
func (o *job) run(k *call, q request) {
	r, w := io.Pipe()
	answer := &streamBuffer{answerBuffer: answerBuffer{header: make(http.Header)}, to: w}
	var reading sync.WaitGroup
	reading.Go(func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxAnswer)
		for lines.Scan() {
			var line protocol.JobLine
			if json.Unmarshal(lines.Bytes(), &line) == nil {
				o.follow(line)
			}
		}
		_ = r.CloseWithError(errors.New("the job's answer is no longer read"))
	})
	err := k.send(k.ctx, answer, q.method, q.path, q.query, q.body)
	_ = w.Close()
	reading.Wait()
	o.end(k, err, answer)
}

func (o *job) follow(line protocol.JobLine) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = line
}

func (o *job) end(k *call, err error, answer *streamBuffer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = k.c.Now()
	switch {
	case err != nil:
		o.state, o.problem = "failed", failureOf(err)
	case answer.status >= http.StatusBadRequest:
		o.state, o.problem = "failed", readFailure(answer.status, answer.body.Bytes())
	case o.last.Type == "result":
		o.state = "done"
	case k.ctx.Err() != nil:
		o.state = "stopped"
	case o.last.Error != nil:
		text, _ := json.Marshal(o.last.Error)
		o.state, o.problem = "failed", readFailure(http.StatusOK, text)
	default:
		o.state = "failed"
		o.problem = &failure{Code: "internal", Message: "The job ended without a result.", Next: nextSteps["internal"]}
	}
}

// State returns running, done, failed or stopped.
func (o *job) State() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

// Tone is the colour of the job's state.
func (o *job) Tone() string { return tones[o.State()] }

// streamBuffer passes a successful answer on, and keeps an error answer.
type streamBuffer struct {
	answerBuffer
	to io.Writer
}

// Write implements http.ResponseWriter.
func (w *streamBuffer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status >= http.StatusBadRequest {
		return w.answerBuffer.Write(b)
	}
	return w.to.Write(b)
}

// jobView is the page of a job.
type jobView struct {
	ID, State   string
	Active      bool
	Facts       []fact
	Done, Total int64
	Unit        string
	Problem     *failure
	Verified    *protocol.Verified
	Rebuilt     []protocol.Rebuilt
}

// job shows a job's progress or result.
func (c *Console) job(w http.ResponseWriter, r *http.Request, s *session) error {
	o, err := c.findJob(r, s)
	if err != nil {
		return err
	}
	return c.show(w, r, s, "job", &view{
		Title: o.Title, Section: "integrity", Data: o.view(c.Now()),
		Crumbs: []link{{Label: "Integrity", Href: Root + "/integrity"}},
	})
}

func (c *Console) findJob(r *http.Request, s *session) (*job, error) {
	if !s.May(scopeOperate) {
		return nil, lacks(scopeOperate)
	}
	if o := c.jobs.find(r.PathValue("id")); o != nil {
		return o, nil
	}
	return nil, &failure{
		Status: http.StatusNotFound, Code: "not_found", Message: "This node has no such job.",
		Next: "Jobs are kept by the node that runs them until it restarts. The audit trail has its start.",
	}
}

func (o *job) view(now time.Time) *jobView {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := &jobView{
		ID: o.ID, State: o.state, Active: o.state == "running", Done: o.last.Users, Total: o.last.Total, Unit: "users",
		Problem: o.problem, Verified: o.last.Verified, Rebuilt: o.last.Rebuilt,
	}
	until := now
	if !o.ended.IsZero() {
		until = o.ended
	}
	d.Facts = []fact{
		{"State", badge(o.state)},
		{"Scope", text(o.Scope)},
		{"Reason", text(o.Reason)},
		{"Started by", text(o.User)},
		{"Started", moment(o.Started)},
		{"Runtime", text(formatSeconds(int64(until.Sub(o.Started).Seconds())))},
	}
	if o.last.Board != "" {
		d.Facts = append(d.Facts, fact{"Board", to(boardHref(o.last.Board), o.last.Board)})
	}
	return d
}

// stopJob stops a job. Jobs leave everything consistent when they stop.
func (c *Console) stopJob(w http.ResponseWriter, r *http.Request, s *session) error {
	o, err := c.findJob(r, s)
	if err != nil {
		return err
	}
	o.stop()
	http.Redirect(w, r, Root+"/jobs/"+o.ID, http.StatusSeeOther)
	return nil
}
