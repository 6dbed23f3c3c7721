package clienttest

import (
	"net/http"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// status returns the status of an idle server and its number of streams.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	rate, none := 0.0, int64(0)
	write(w, 200, protocol.Status{
		Roles: []string{"api", "gateway"}, WindowMS: 1000, IncrementsPerSecond: &rate, OutboxDepth: &none,
		OutboxOldestAgeMS: &none,
		Connections:       map[string]int64{"websocket": int64(s.Streams())},
		Board:             &protocol.Condition{Board: "global", State: "HEALTHY"},
	})
}
