package api

import (
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tellEvery is how often the log hears of refusals of one kind on one route: an
// outage, or a batch in it, refuses thousands a second for one reason.
const tellEvery = time.Second

// failures are refusals that are this server's fault, by what the log tells of
// them. There is at most one for each route and code.
type failures struct {
	mu   sync.Mutex
	told map[failure]*telling
}

type failure struct {
	path string
	code scoreboard.Code
}

type telling struct {
	last   time.Time
	unsaid int // since then
}

// due says whether the log is to hear of one more now, and how many it has not
// heard of since the last.
func (f *failures) due(of failure, now time.Time) (unsaid int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.told[of]
	if t == nil {
		t = &telling{}
		f.told[of] = t
	}
	if now.Sub(t.last) < tellEvery {
		t.unsaid++
		return 0, false
	}
	unsaid, t.last, t.unsaid = t.unsaid, now, 0
	return unsaid, true
}

// tell logs a failure, unless it has just told of its like.
func (a *API) tell(c *gin.Context, code scoreboard.Code, err error) {
	of := failure{c.FullPath(), code}
	unsaid, ok := a.failures.due(of, a.Now())
	if !ok {
		return
	}
	a.Log.Error("request failed", "path", of.path, "code", code, "request_id", c.GetString(keyRequestID),
		"trace", c.GetString(keyTrace), "err", err, "unsaid", unsaid)
}
