package api

import (
	"net/http"
	"strings"
)

// Countries says in which country an address is, "" where it is not known.
type Countries interface {
	Country(address string) string
}

// country is where a request came from: as the edge says, else by address.
func (a *API) country(r *http.Request) string {
	if name := a.now().CountryHeader; name != "" {
		if said := strings.ToUpper(r.Header.Get(name)); isCountry(said) {
			return said
		}
	}
	if a.Countries == nil {
		return ""
	}
	return a.Countries.Country(address(r))
}

// isCountry takes two letters, but not the edge's word for "unknown".
func isCountry(s string) bool {
	return len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z' && s != "XX"
}
