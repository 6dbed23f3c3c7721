package ranking_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A Redis in protected mode, which rejects other hosts before any command, is named as such.
func TestProtectedModeIsNamed(t *testing.T) {
	t.Parallel()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	host := ""
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			host = ip.IP.String()
		}
	}
	if host == "" {
		t.Skip("this machine has no address but the loopback's, which Redis never rejects")
	}
	r := backends.OwnRedis(t)
	admin := backends.RedisClient(t, r.URL)
	for name, value := range map[string]string{"bind": "*", "protected-mode": "yes", "requirepass": ""} {
		if err := admin.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	port := strconv.Itoa(r.Port)
	for _, url := range []string{
		"redis://" + net.JoinHostPort(host, port) + "/0", "redis://:secret@" + net.JoinHostPort(host, port) + "/0",
	} {
		err = ranking.New(backends.RedisClient(t, url)).Ping(t.Context())
		var setup *scoreboard.SetupError
		if !errors.As(err, &setup) || !strings.Contains(setup.Problem, "protected mode") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}
