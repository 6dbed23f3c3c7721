package piece

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// redisError is what Redis answers.
type redisError string

func (e redisError) Error() string { return string(e) }

func (redisError) RedisError() {}

func TestOutagesAreUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want wire.Code
	}{
		"refused":            {&net.OpError{Op: "dial", Err: errors.New("refused")}, wire.CodeUnavailable},
		"slow":               {os.ErrDeadlineExceeded, wire.CodeUnavailable},
		"out of time":        {context.DeadlineExceeded, wire.CodeUnavailable},
		"closed":             {io.EOF, wire.CodeUnavailable},
		"no free connection": {redis.ErrPoolTimeout, wire.CodeUnavailable},
		"loading":            {redisError("LOADING Redis is loading"), wire.CodeUnavailable},
		"out of memory":      {redisError("OOM command not allowed"), wire.CodeUnavailable},
		"replica":            {redisError("READONLY You can't write"), wire.CodeUnavailable},
		"connections":        {redisError("ERR max number of clients reached"), wire.CodeUnavailable},
		"slot moves":         {redisError("MOVED 42 10.0.0.2:6379"), wire.CodeUnavailable},
		"other password":     {redisError("WRONGPASS invalid username-password pair"), wire.CodeUnavailable},
		"no sentinel": {
			errors.New("redis: all sentinels specified in configuration are unreachable"), wire.CodeUnavailable,
		},
		"no node":           {errors.New("redis: cluster has no nodes"), wire.CodeUnavailable},
		"unusable":          {errors.New("redis: connection is not usable"), wire.CodeUnavailable},
		"no TLS":            {tls.RecordHeaderError{Msg: "first record is no handshake"}, wire.CodeUnavailable},
		"other certificate": {&tls.CertificateVerificationError{Err: errors.New("expired")}, wire.CodeUnavailable},
		"epoch taken":       {errEpochLow, wire.CodeUnavailable},
		"our mistake":       {redisError("ERR wrong number of arguments"), wire.CodeInternal},
		"wrong type":        {redisError("WRONGTYPE Operation against a key"), wire.CodeInternal},
		"caller left":       {context.Canceled, wire.CodeInternal},
		"not loaded":        {scoreboard.ErrNotLoaded, wire.CodeInternal},
		"shadow lost":       {ErrClaimLost, wire.CodeUnavailable},
		"known":             {scoreboard.Errorf(wire.CodeConflict, "x"), wire.CodeConflict},
	} {
		err := Translate(fmt.Errorf("do: %w", c.err))
		if got := wire.CodeOf(err); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
	if err := Translate(nil); err != nil {
		t.Errorf("no error: got %v", err)
	}
}
