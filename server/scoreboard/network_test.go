package scoreboard_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestClientNetworks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address      string
		bits         int
		client, site string
	}{
		{"192.0.2.1", 64, "192.0.2.1", ""},
		{"::ffff:192.0.2.1", 64, "192.0.2.1", ""},
		{"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"2001:db8:1:2:ffff::", 64, "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"2001:db8:1:ff:3:4:5:6", 56, "2001:db8:1::/56", "2001:db8:1::/48"},
		{"2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6/128", "2001:db8:1::/48"},
		{"2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::/48", ""},
		{"fe80::1%eth0", 64, "fe80::/64", "fe80::/48"},
		{"@", 64, "@", ""},
		{"", 64, "", ""},
	} {
		if client, site := scoreboard.ClientNetworks(c.address, c.bits); client != c.client || site != c.site {
			t.Errorf("%s, %d bits: got %q and %q, want %q and %q", c.address, c.bits, client, site, c.client, c.site)
		}
	}
}
