package ranking

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
)

// witness is what this process knows of its own writes: the servers that they went to, and when
// the last one ended. In a failover one process may write to the old server for longer than the
// others. When it finds the new one, heartbeats.lua doubts the boards that were rebuilt there
// before the last write to the old one.
//
// A client may also be led to another server and back between two heartbeats, each to the first one. So each new
// connection tells which server it leads to.
type witness struct {
	conn    *piece.Conn
	mu      sync.Mutex
	servers []string             // by bucket, then of the total: that of the last heartbeat
	fields  map[string]time.Time // when this process last recorded each field of heartbeats
	writing int                  // writes in progress
	ended   time.Time            // the last write; zero if there was none
	changes int                  // how often another server was found
	asked   bool                 // for the server of every bucket
	leads   string               // the server that the last new connection leads to; empty in a cluster
}

func newWitness(c *piece.Conn) *witness {
	return &witness{
		conn: c, servers: make([]string, c.Keys.Total()+1), fields: make(map[string]time.Time),
	}
}

// unsure stands for a server in which a write may have ended after it was left.
const unsure = "?"

// fieldTTL is how long a field counts as this process's own: longer than a failover takes, and
// so short that its partition has hardly gone to another process, which ended, and come back.
const fieldTTL = time.Minute

// write notes that a write begins, and returns what notes that it has ended. One that was in
// progress when another server was found may have gone to the one before.
func (w *witness) write() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing++
	changes := w.changes
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writing--
		w.ended = time.Now()
		if w.changes != changes {
			w.forget()
		}
	}
}

// forget makes the next heartbeats doubt what the last writes went to.
func (w *witness) forget() {
	for i := range w.servers {
		w.servers[i] = unsure
	}
}

// suspectAll is forget for a caller that holds no lock.
func (w *witness) suspectAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget()
}

// arguments are the first arguments of heartbeats.lua about a bucket, behind of.
func (w *witness) arguments(of string, bucket int) []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := ""
	switch {
	case w.writing > 0:
		idle = "0"
	case !w.ended.IsZero():
		idle = strconv.FormatInt(time.Since(w.ended).Microseconds(), 10)
	}
	return []any{of, w.servers[bucket], idle}
}

// appendField appends a field of a heartbeat to the arguments.
func (w *witness) appendField(args []any, field string, at any) []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := "0"
	if time.Since(w.fields[field]) < fieldTTL {
		own = "1"
	}
	return append(args, field, at, own)
}

// recorded notes that this process has recorded a field.
func (w *witness) recorded(field string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fields[field] = time.Now()
}

// found notes the server of a bucket.
func (w *witness) found(bucket int, server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.servers[bucket]
	w.servers[bucket] = server
	if before != "" && before != unsure && before != server {
		w.changes++
	}
}

// connected notes the server that a new connection leads to. Writes may have gone to another one until now.
func (w *witness) connected(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leads != "" && w.leads != server {
		w.forget()
		w.changes++
	}
	w.leads = server
}

// changed returns how often another server was found.
func (w *witness) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// Connected is called with each new connection of the client before it is used (redis.Options.OnConnect). In a
// cluster it does nothing: there every server has connections.
func (r *heartbeats) Connected(ctx context.Context, conn *redis.Conn) error {
	if r.Keys.Clustered {
		return nil
	}
	var server, replication *redis.StringCmd
	_, err := conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		server, replication = p.Info(ctx, "server"), p.Info(ctx, "replication")
		return nil
	})
	if err != nil || infoField(server.Val(), "redis_mode") == "sentinel" {
		return nil //nolint:nilerr // what is sent next shows it, too
	}
	r.witness.connected(infoField(server.Val(), "run_id") + "/" + infoField(replication.Val(), "master_replid"))
	return nil
}

// infoField returns a field of INFO; empty if it is missing.
func infoField(text, field string) string {
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == field {
			return value
		}
	}
	return ""
}

// ask asks for the servers that this process is about to write to, once.
func (w *witness) ask(ctx context.Context) error {
	if !w.mustAsk() {
		return nil
	}
	found, err := w.conn.Trust(ctx, w.conn.Keys.All())
	if err != nil {
		return err
	}
	w.learn(found)
	return nil
}

// mustAsk reports whether the servers are not known yet.
func (w *witness) mustAsk() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.asked
}

// learn notes the servers that the first writes will go to.
func (w *witness) learn(holders map[int]*piece.Holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for bucket, h := range holders {
		if w.servers[bucket] == "" {
			w.servers[bucket] = h.Server
		}
	}
	w.asked = true
}
