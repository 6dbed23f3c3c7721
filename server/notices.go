package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/scoreboard/scoreboard/server/announce"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/transport"
)

// ranked is the catalog as the announcer asks it.
type ranked struct{ catalog *store.Catalog }

func (r ranked) Ranked(ctx context.Context) ([]scoreboard.Board, error) {
	return repair.RankedBoards(ctx, r.catalog)
}

// How soon another process announces where one has died, and how late what a
// lost notice should have said is said.
const (
	announceLease = 3 * time.Second
	announceSweep = 10 * time.Second
)

// makeAnnouncer makes what carries notices to Kafka, where there is one beside
// a projection.
func (s *Server) makeAnnouncer(catalog *store.Catalog) {
	c := s.config
	if s.kafka == nil || !c.Has(config.RoleProjector) {
		return
	}
	s.notices = s.kafka.Producer(c.Kafka.NoticesTopic)
	a := announce.New(announce.Options{
		Owner: processName(), Interval: c.Kafka.NoticesInterval, LeaseDuration: announceLease, SweepInterval: announceSweep, RefreshInterval: c.Kafka.NoticesRetention / 2,
	}, s.ranking, ranked{catalog}, transport.NewNotices(s.notices), s.log)
	s.register(a.Collectors()...)
	s.add("announcer", a)
}

// processName is an owner of leases: host and process are for people, the
// random part makes it unique.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}
