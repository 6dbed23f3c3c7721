package server

import (
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/admin"
	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/edge"
	"github.com/scoreboard/scoreboard/server/geo"
	"github.com/scoreboard/scoreboard/server/moderation"
)

// makeTrust makes what operators moderate with, and what works it off.
func (s *Server) makeTrust(o *api.Options) error {
	o.Statuses = s.store
	s.add("settings", s.settings)
	s.register(s.store.Collectors()...)
	if s.config.Has(config.RoleAPI) {
		o.Trail, o.Settings, o.Flags = s.store, s.settings, s.store
		o.Moderation = admin.Moderation{Store: s.store, Ranking: s.ranking, CacheTTL: s.config.Reads.UserCache}
	}
	if s.config.Has(config.RoleMaintenance) {
		worker := moderation.NewWorker(s.store, s.store, s.ranking,
			func() time.Duration { return s.settings.Current().Retention.Addresses }, s.log)
		s.add("moderation", worker)
		s.register(worker.Collectors()...)
	}
	if s.config.Anomaly.CountryFile == "" {
		return nil
	}
	countries, err := geo.Open(s.config.Anomaly.CountryFile, s.log)
	if err != nil {
		return err
	}
	o.Countries = countries
	s.add("countries", countries)
	return nil
}

// makeEdge reads the certificates and the trusted proxies.
func (s *Server) makeEdge() (err error) {
	c := s.config
	if s.proxies, err = edge.ParseProxies(c.TrustedProxies); err != nil {
		return fmt.Errorf("setting trusted_proxies: %w", err)
	}
	if c.TLS.Cert == "" {
		return nil
	}
	s.certificates, err = edge.NewCertificates(edge.Files{Cert: c.TLS.Cert, Key: c.TLS.Key, ClientCA: c.TLS.ClientCA}, s.log)
	if err != nil {
		return err
	}
	s.add("certificates", s.certificates)
	return nil
}
