package containers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/docpage"
)

// outage is a row of the table of docs/readiness.md.
type outage struct {
	readyz, backendUp  int
	alerts             []string
	write, async, read int
	ranks              bool // every receipt has its rank
	degraded           bool
}

// readOutages reads that table, by the first cell of its rows.
func readOutages(t *testing.T) map[string]outage {
	t.Helper()
	page := docpage.Read(t, root, "docs/readiness.md")
	number := func(text string) int { // the first one
		n, err := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(text))
		if err != nil {
			t.Fatalf("docs/readiness.md: %q does not begin with a number", text)
		}
		return n
	}
	all := make(map[string]outage)
	for _, row := range page.Rows {
		if !strings.HasSuffix(row[0], ", for all") || len(row) != 8 {
			continue
		}
		all[strings.TrimSuffix(row[0], ", for all")] = outage{
			readyz: number(row[1]), backendUp: number(row[2]),
			alerts: regexp.MustCompile(`\w+`).FindAllString(row[3], -1),
			write:  number(row[4]), async: number(row[5]), read: number(row[6]),
			ranks: !strings.Contains(row[4], "or is missing"), degraded: strings.Contains(row[6], "degraded"),
		}
	}
	return all
}

// breaks are ways in which a service fails, and how it comes back.
var breaks = []struct {
	name, broken, back string
}{
	{"killed", "kill", "start"}, {"stopped", "stop", "start"}, {"paused", "pause", "unpause"},
}

// outages breaks each backend in each way. What readiness, metrics, doctor, alerts and the
// API then say must be what docs/readiness.md says. No point is lost or counted twice.
func (s *stack) outages(t *testing.T) {
	s.start(t)
	rows := readOutages(t)
	player := newLedger(t, s, "outage")
	s.healthy(t, player)
	watching := newViewer(t, s, player.user)
	for _, tt := range []struct {
		row      string
		services []string
		backends []string // as readiness and metrics name them
	}{
		{"PostgreSQL", []string{"postgres"}, []string{"postgres"}},
		{"PostgreSQL", []string{"pgbouncer"}, []string{"postgres"}},
		{"Redis", []string{"redis"}, []string{"redis"}},
		{"Kafka", []string{"kafka"}, []string{"kafka"}},
		{"PostgreSQL and Redis", []string{"postgres", "redis"}, []string{"postgres", "redis"}},
	} {
		want, ok := rows[tt.row]
		if !ok {
			t.Fatalf("docs/readiness.md has no row %q", tt.row)
		}
		for _, b := range breaks {
			t.Run(strings.Join(tt.services, " and ")+" "+b.name, func(t *testing.T) {
				ids := make([]string, len(tt.services))
				for i, name := range tt.services {
					ids[i] = s.containers(t)[name].ID
				}
				for _, id := range ids {
					// On a busy machine, the engine cannot always freeze a process.
					eventually(t, 10*time.Second, "the engine to break it", func() string {
						if _, err := s.try(t, "docker", b.broken, id); err != nil {
							return err.Error()
						}
						return ""
					})
				}
				s.compare(t, want, tt.backends, player, watching)
				before := watching.score.Load()
				s.run(t, "docker", append([]string{b.back}, ids...)...)
				s.healthy(t, player)
				watching.sees(t, before)
			})
		}
	}
	t.Run("postgres read-only", func(t *testing.T) {
		want, ok := rows["PostgreSQL is read-only"]
		if !ok {
			t.Fatal("docs/readiness.md has no row of a PostgreSQL that is read-only")
		}
		s.readOnly(t, "on")
		s.compare(t, want, []string{"postgres"}, player, watching)
		before := watching.score.Load()
		s.readOnly(t, "off")
		s.healthy(t, player)
		watching.sees(t, before)
	})
	player.settle(t, 30*time.Second)
}

// readOnly has PostgreSQL reject writes, or take them again.
func (s *stack) readOnly(t *testing.T, value string) {
	t.Helper()
	s.compose(t, "exec", "-T", "postgres", "psql", "-q", "-v", "ON_ERROR_STOP=1", "-U", "scoreboard",
		"-d", "scoreboard", "-c", "alter system set default_transaction_read_only = "+value,
		"-c", "select pg_reload_conf()")
}

// compare requires everything that a row says.
func (s *stack) compare(t *testing.T, want outage, backends []string, player *ledger, watching *viewer) {
	t.Helper()
	const within = 30 * time.Second
	began := time.Now()
	eventually(t, within, "/readyz", func() string { return readiness(t, want.readyz, backends) })
	eventually(t, within, "scoreboard_backend_up", func() string {
		_, metrics := get(t, ops+"/metrics", "")
		for _, name := range backends {
			line := fmt.Sprintf("scoreboard_backend_up{backend=%q} %d\n", name, want.backendUp)
			if !strings.Contains(metrics, line) {
				return "no " + line
			}
		}
		return ""
	})
	eventually(t, within, "sbctl doctor", func() string { return s.doctor(t, backends) })
	eventually(t, within, "a write", func() string {
		status, receipt := player.point(t.Context(), false)
		if status != want.write || status/100 == 2 && want.ranks && receipt.Rank == nil {
			return fmt.Sprintf("got %d with the rank %v, want %d", status, receipt.Rank, want.write)
		}
		return ""
	})
	eventually(t, within, "a write with respond-async", func() string {
		if status, _ := player.point(t.Context(), true); status != want.async {
			return fmt.Sprintf("got %d, want %d", status, want.async)
		}
		return ""
	})
	eventually(t, within, "a read", func() string { return s.board(t, want.read, want.degraded) })
	eventually(t, within, "the alerts in Prometheus", func() string {
		got := alerts(t)
		for _, name := range want.alerts {
			for _, backend := range backends {
				// BackendDown says which; NotReady is about the process.
				if got[name+" "+backend] == "" && got[name] == "" {
					return fmt.Sprintf("got %v, want %v of %v", got, want.alerts, backends)
				}
			}
		}
		return ""
	})
	watching.open(t)
	t.Logf("as the table says after %v", time.Since(began).Round(100*time.Millisecond))
}

// healthy waits until nothing is wrong.
func (s *stack) healthy(t *testing.T, player *ledger) {
	t.Helper()
	const within = time.Minute
	began := time.Now()
	eventually(t, within, "/readyz", func() string { return readiness(t, 200, nil) })
	eventually(t, within, "sbctl doctor", func() string { return s.doctor(t, nil) })
	eventually(t, within, "a write", func() string {
		if status, receipt := player.point(t.Context(), false); status/100 != 2 || receipt.Rank == nil {
			return fmt.Sprintf("got %d with the rank %v", status, receipt.Rank)
		}
		return ""
	})
	eventually(t, within, "a write with respond-async", func() string {
		if status, _ := player.point(t.Context(), true); status != 202 {
			return fmt.Sprintf("got %d", status)
		}
		return ""
	})
	eventually(t, within, "a read", func() string { return s.board(t, 200, false) })
	eventually(t, within, "a board that is not repaired", func() string {
		if _, body := get(t, api+"/v1/leaderboard/top", s.token); !strings.Contains(body, `"board_state":"HEALTHY"`) {
			return body
		}
		return ""
	})
	t.Logf("healthy after %v", time.Since(began).Round(100*time.Millisecond))
}

// readiness compares /readyz: its status, and which backends it names.
func readiness(t *testing.T, want int, backends []string) string {
	t.Helper()
	status, body := get(t, ops+"/readyz", "")
	var report map[string]string
	_ = json.Unmarshal([]byte(body), &report)
	if status != want || len(report) == 0 {
		return fmt.Sprintf("got %d, want %d: %s", status, want, body)
	}
	for _, name := range []string{"postgres", "redis", "kafka"} {
		if (report[name] != "ok") != slices.Contains(backends, name) {
			return body
		}
	}
	return ""
}

// doctor compares the backends that sbctl doctor finds failing.
func (s *stack) doctor(t *testing.T, backends []string) string {
	t.Helper()
	out, err := s.try(t, "sbctl", "doctor", "--output", "json")
	if (err != nil) != (len(backends) > 0) {
		return fmt.Sprintf("sbctl doctor: %v", err)
	}
	var report struct{ Checks []wire.Check }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return err.Error() + ": " + out
	}
	for _, c := range report.Checks {
		if name := c.Name; name == "postgres" || name == "redis" || name == "kafka" {
			if (c.Status == wire.CheckFail) != slices.Contains(backends, name) {
				return fmt.Sprintf("%s: %s, %s", name, c.Status, c.Detail)
			}
		}
	}
	return ""
}

// board compares the response of the top of the board.
func (s *stack) board(t *testing.T, want int, degraded bool) string {
	t.Helper()
	status, body := get(t, api+"/v1/leaderboard/top", s.token)
	if status != want || status == 200 && strings.Contains(body, `"degraded":true`) != degraded {
		return fmt.Sprintf("got %d, want %d, degraded %v: %s", status, want, degraded, body)
	}
	return ""
}

// alerts are the states of those of Prometheus, pending or firing, by name, with the backend
// if they name one.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	_, body := get(t, prometheus+"/api/v1/alerts", "")
	var got struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	_ = json.Unmarshal([]byte(body), &got)
	all := make(map[string]string)
	for _, a := range got.Data.Alerts {
		all[strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["backend"])] = a.State
	}
	return all
}

// fires requires that BackendDown fires for a broker that is dead for a minute.
func (s *stack) fires(t *testing.T) {
	s.start(t)
	player := newLedger(t, s, "alert")
	s.healthy(t, player)
	s.compose(t, "kill", "kafka")
	eventually(t, 100*time.Second, "BackendDown to fire", func() string {
		if got := alerts(t); got["BackendDown kafka"] != "firing" {
			return fmt.Sprint(got)
		}
		return ""
	})
	s.run(t, "docker", "start", s.containers(t)["kafka"].ID)
	s.healthy(t, player)
	player.settle(t, 30*time.Second)
}
