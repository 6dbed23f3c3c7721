package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkDialects compares the CPU of a dialect's write and reads with that of the
// native ones, with the same token and without signatures: cpu-µs/op is this process, so
// the server and its client, without PostgreSQL and Redis.
func BenchmarkDialects(b *testing.B) {
	h := newHarness(b)
	n := h.start("api,relay,projector,gateway,maintenance", "dialects", "delta,plain,module",
		"ingest-actions", "win:1:100", "auth-dev-issuer", "false", "log-level", "warn")
	token := "Bearer " + h.token("game", "score:update", time.Hour)
	web := &http.Client{}
	send := func(b *testing.B, method, path, body string) {
		b.Helper()
		req, err := http.NewRequestWithContext(b.Context(), method, n.URL+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := web.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatalf("%s %s: got %d, %s, %v", method, path, res.StatusCode, text, err)
		}
	}
	sent := 0
	now := time.Now().UTC()
	write := func(path, format string) func(b *testing.B) {
		return func(b *testing.B) {
			sent++
			at := now.Add(time.Duration(sent) * time.Microsecond).Format(time.RFC3339Nano)
			user := fmt.Sprintf("u%d", sent%100)
			send(b, http.MethodPost, path, strings.NewReplacer(
				"USER", user, "EVENT", fmt.Sprintf("e%d", sent), "TIME", at).Replace(format))
		}
	}
	read := func(path string) func(b *testing.B) {
		return func(b *testing.B) { send(b, http.MethodGet, path, "") }
	}
	run := func(name string, one func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			var before, after syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			for b.Loop() {
				one(b)
			}
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(used)/1000/float64(b.N), "cpu-µs/op")
		})
	}
	run("write/native", write("/v1/scores/increment",
		`{"user_id":"USER","delta":5,"event_id":"EVENT","timestamp":"TIME"}`))
	run("write/delta", write("/delta/v1/score/update",
		`{"userId":"USER","scoreDelta":5,"actionId":"EVENT","timestamp":"TIME"}`))
	run("top/native", read("/v1/leaderboard/top?limit=10"))
	run("top/delta", read("/delta/v1/leaderboard/top?n=10"))
	run("user/native", read("/v1/users/u1/score"))
	run("user/delta", read("/delta/v1/users/u1/score"))
}
