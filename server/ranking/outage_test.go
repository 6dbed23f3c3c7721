package ranking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// redisError is what Redis answers.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

func TestOutagesAreUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want scoreboard.Code
	}{
		"refused":            {&net.OpError{Op: "dial", Err: errors.New("refused")}, scoreboard.CodeUnavailable},
		"slow":               {os.ErrDeadlineExceeded, scoreboard.CodeUnavailable},
		"out of time":        {context.DeadlineExceeded, scoreboard.CodeUnavailable},
		"closed":             {io.EOF, scoreboard.CodeUnavailable},
		"no free connection": {redis.ErrPoolTimeout, scoreboard.CodeUnavailable},
		"loading":            {redisError("LOADING Redis is loading"), scoreboard.CodeUnavailable},
		"out of memory":      {redisError("OOM command not allowed"), scoreboard.CodeUnavailable},
		"replica":            {redisError("READONLY You can't write"), scoreboard.CodeUnavailable},
		"connections":        {redisError("ERR max number of clients reached"), scoreboard.CodeUnavailable},
		"our mistake":        {redisError("ERR wrong number of arguments"), scoreboard.CodeInternal},
		"wrong type":         {redisError("WRONGTYPE Operation against a key"), scoreboard.CodeInternal},
		"caller left":        {context.Canceled, scoreboard.CodeInternal},
		"not loaded":         {scoreboard.ErrNotLoaded, scoreboard.CodeInternal},
		"shadow lost":        {errMarkLost, scoreboard.CodeUnavailable},
		"known":              {scoreboard.Errorf(scoreboard.CodeConflict, "x"), scoreboard.CodeConflict},
	} {
		err := translate(fmt.Errorf("do: %w", c.err))
		if got := scoreboard.CodeOf(err); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
	if err := translate(nil); err != nil {
		t.Errorf("no error: got %v", err)
	}
}
