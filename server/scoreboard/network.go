package scoreboard

import "net/netip"

// The networks by which clients with IPv6 are limited. A client has at
// least a whole /64, and an attacker often a /48, which is what a site is given.
const (
	DefaultClientBits = 64 // of the network that counts as one client
	SiteBits          = 48
	// SiteFactor is how many times the limit of one client its site has.
	SiteFactor = 16
)

// ClientNetworks returns what a limit by address counts as one client: the address
// itself, or for IPv6 its network of the given bits. site is the IPv6 network that
// holds it, of SiteBits; "" for IPv4 and where bits is no narrower. What is not an
// address is returned as it is.
func ClientNetworks(address string, bits int) (client, site string) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address, ""
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String(), ""
	}
	network := netip.PrefixFrom(a, bits).Masked()
	if bits <= SiteBits {
		return network.String(), ""
	}
	return network.String(), netip.PrefixFrom(a, SiteBits).Masked().String()
}
