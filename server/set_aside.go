package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// reportSetAside logs and counts the boards that this process sets aside because of what their
// keys in Redis hold.
func (s *Server) reportSetAside() {
	count := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "scoreboard_ranking_set_aside_total",
		Help: "Boards removed from Redis, to be rebuilt, because a key of theirs was of another type or malformed.",
	})
	s.Register(count)
	s.ranking.OnSetAside(func(board scoreboard.BoardID, reason error) {
		count.Inc()
		s.log.Error("board set aside, to be rebuilt: a key of it in Redis is broken", "board", board, "err", reason)
	})
}
