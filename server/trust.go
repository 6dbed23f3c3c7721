package server

import (
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/moderation"
	"github.com/scoreboard/scoreboard/server/ranking"
)

// makeTrust makes what operators moderate with, and what works it off.
func (s *Server) makeTrust(o *api.Options) {
	o.Statuses = s.store
	if s.config.Has(config.RoleAPI) {
		o.Trail, o.Moderation = s.store, s.store
	}
	if s.config.Has(config.RoleUpkeep) {
		worker := moderation.NewWorker(s.store, s.store, s.ranking, ranking.ErrCold,
			func() time.Duration { return s.config.RetentionAddresses }, s.log)
		s.add("moderation", worker)
		s.register(worker.Collectors()...)
	}
}
