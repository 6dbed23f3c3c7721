package ranking

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// servers checks the servers.
type servers struct{ *piece.Conn }

// Ping returns an error unless Redis answers: of a cluster every primary, and they
// serve every slot. It is a *scoreboard.SetupError where the setting is wrong.
func (r *servers) Ping(ctx context.Context) error {
	err := r.EachServer(ctx, func(ctx context.Context, server *redis.Client) error {
		if r.Keys.Clustered {
			return checkSlots(ctx, server)
		}
		// A server of a cluster answers to PING, although it has only some of the keys.
		err := server.HExists(ctx, piece.FreshKey, "of").Err()
		if closed(err) {
			err = errors.Join(refusal(ctx, server), err)
		}
		return err
	})
	if err != nil {
		return piece.Translate(fmt.Errorf("ping Redis: %w", explain(err)))
	}
	return nil
}

// checkSlots returns an error unless a server of a cluster says that every slot is
// served.
func checkSlots(ctx context.Context, server *redis.Client) error {
	info, err := server.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	state, ok := "", ""
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "cluster_state":
			state = value
		case "cluster_slots_ok":
			ok = value
		}
	}
	if state == "ok" && ok == "16384" {
		return nil
	}
	if ok == "16384" {
		return errors.New("most primaries of the cluster do not answer")
	}
	return &scoreboard.SetupError{
		Setting: "redis.url", Problem: "the cluster serves " + ok + " of 16384 slots",
		Fix: `start the missing servers, or run "redis-cli --cluster fix HOST:PORT"`,
	}
}

// closed reports whether the server closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

const (
	refusalTimeout = 200 * time.Millisecond
	refusalSize    = 4 << 10
)

// refusal connects and returns the error that the server sends before any command, nil
// without one. A server in protected mode sends such an error and closes the connection;
// of that, the client reports the end only.
func refusal(ctx context.Context, server *redis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	o := server.Options()
	conn, err := o.Dialer(ctx, o.Network, o.Addr)
	if err != nil {
		return nil //nolint:nilerr // the caller has an error
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetReadDeadline(deadline)
	line, _ := bufio.NewReader(io.LimitReader(conn, refusalSize)).ReadString('\n')
	if text, ok := strings.CutPrefix(line, "-"); ok {
		return refused(strings.TrimSpace(text))
	}
	return nil // the server waits for a command
}

// refused is the text of a refusal.
type refused string

func (r refused) Error() string { return string(r) }

// explain says which setting is wrong, if what Redis answers shows it.
func explain(err error) error {
	problem, fix := "", ""
	has := func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }
	switch text := err.Error(); {
	case has("WRONGPASS"), has("NOAUTH"):
		problem = "Redis rejects the user name or password, or wants one"
		fix = "put both into the URL, percent-encoded: redis://USER:PASSWORD@HOST:PORT"
	case has("AUTH <password> called without"):
		problem, fix = "the URL has a password, but Redis has none", "remove it, or set requirepass in Redis"
	case has("NOPERM"):
		problem, fix = "the user of the URL may not run a command that is needed", "give it +@all ~* &* (ACL SETUSER)"
	case has("MOVED"), has("ASK"):
		problem, fix = "the server is part of a cluster", "use redis+cluster:// instead of redis://"
	case has("This instance has cluster support disabled"):
		problem, fix = "the server is not part of a cluster", "use redis:// instead of redis+cluster://"
	case strings.HasPrefix(text, "DENIED "):
		problem = "Redis is in protected mode, which rejects connections from other hosts"
		fix = "set requirepass in Redis, and put the password into the URL"
	case has("DB index is out of range"):
		problem, fix = "Redis has no database of this number", "use a lower one after the last /"
	case strings.Contains(text, "all sentinels specified in configuration are unreachable"):
		problem = "no sentinel answers, or none knows the primary"
		fix = "check the addresses, the name after the last / and sentinel_password"
	default:
		return tlsfiles.Explain("redis.tls", err)
	}
	return &scoreboard.SetupError{Setting: "redis.url", Problem: problem, Fix: fix, Err: err}
}

// AsOf returns the time before which every change is applied to every board; zero while
// that is unknown.
func (r *servers) AsOf(ctx context.Context) (oldest time.Time, err error) {
	for _, bucket := range r.Keys.All() {
		f := r.Recent(bucket)
		if f == nil {
			fresh, err := r.Redis.HGetAll(ctx, r.Keys.Fresh(bucket)).Result()
			if err != nil {
				return time.Time{}, piece.Translate(fmt.Errorf("read how fresh the ranking is: %w", err))
			}
			f = piece.ParseFreshness(fresh)
		}
		if f.AsOf.IsZero() {
			return time.Time{}, nil
		}
		if oldest.IsZero() || f.AsOf.Before(oldest) {
			oldest = f.AsOf
		}
	}
	return oldest, nil
}
