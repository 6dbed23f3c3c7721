package publicnet_test

import (
	"net/netip"
	"testing"

	"github.com/scoreboard/scoreboard/internal/publicnet"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	cluster := publicnet.Networks{Allowed: []netip.Prefix{
		netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd12::/16"),
	}}
	for address, want := range map[string]struct{ public, cluster bool }{
		"8.8.8.8": {true, true}, "2606:4700::1111": {true, true}, "::ffff:8.8.8.8": {true, true},
		"64:ff9b::8.8.8.8": {true, true},
		"10.96.0.10":       {false, true}, "::ffff:10.96.0.10": {false, true}, "fd12::1": {false, true},
		"10.0.0.1": {}, "172.16.0.1": {}, "192.168.1.1": {}, "::ffff:192.168.1.1": {}, "fd00:ec2::254": {},
		"127.0.0.1": {}, "127.8.9.10": {}, "::1": {}, "::ffff:127.0.0.1": {}, "0.0.0.0": {}, "0.1.2.3": {}, "::": {},
		"169.254.169.254": {}, "fe80::1": {}, "fe80::1%eth0": {}, "100.100.100.200": {}, "168.63.129.16": {},
		"192.0.0.192": {}, "198.18.0.1": {}, "224.0.0.1": {}, "ff02::1": {}, "255.255.255.255": {},
		"64:ff9b::10.0.0.1": {}, "64:ff9b::169.254.169.254": {}, "64:ff9b:1::1": {}, "2002:a00:1::1": {},
		"2001:0:a00:1::1": {}, "2001:db8::1": {}, "fec0::1": {}, "::10.0.0.1": {},
	} {
		a := netip.MustParseAddr(address)
		if err := (publicnet.Networks{}).Check(a); (err == nil) != want.public {
			t.Errorf("%s without networks: got %v", address, err)
		}
		if err := cluster.Check(a); (err == nil) != want.cluster {
			t.Errorf("%s with the cluster's networks: got %v", address, err)
		}
	}
}
