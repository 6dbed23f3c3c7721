package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// checkPipeline looks at what waits to be published, which only an operator's
// token may.
func checkPipeline(ctx context.Context, s settings) check {
	a := ask(ctx, strings.TrimSuffix(s.Server.Value, "/")+"/v1/admin/outbox", s.Token.Value)
	var o protocol.Outbox
	switch {
	case a.err != nil || a.status != http.StatusOK:
		return check{Name: "pipeline", Status: checkSkipped, Detail: "only a token with the scope score:admin may ask"}
	case json.Unmarshal(a.body, &o) != nil:
		return check{Name: "pipeline", Status: checkSkipped, Detail: "the answer is not one of this API"}
	case o.Halted != "":
		return check{
			Name: "pipeline", Status: checkFail, Detail: "nothing is published: " + o.Halted,
			NextStep: "if this is the database that is meant, \"sbctl rebuild --all\" makes it the truth; else correct postgres.url",
		}
	}
	waiting, oldest, reason := int64(0), int64(0), ""
	for _, w := range o.Shards {
		waiting += w.Depth
		oldest = max(oldest, w.OldestAgeMS)
		if w.LastError != "" {
			reason = ", because of: " + w.LastError
		}
	}
	if oldest > maxAge.Milliseconds() {
		return check{
			Name: "pipeline", Status: checkFail, Detail: fmt.Sprintf("%d changes wait to be published, the first for %v%s", waiting, ms(oldest), reason),
			NextStep: "look at the relay in the server's log; \"sbctl outbox status\" shows each shard",
		}
	}
	return check{Name: "pipeline", Status: checkOK, Detail: fmt.Sprintf("%d changes wait to be published", waiting)}
}
