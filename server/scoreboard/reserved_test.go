package scoreboard_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What the server makes itself is reserved: ids of teams and erased users, actors of the audit
// trail, pseudonyms.
func TestServersOwnNamesAreReserved(t *testing.T) {
	t.Parallel()
	key := scoreboard.NewPseudonymKey()
	made := []string{
		string(scoreboard.Team("ants").User()), string(scoreboard.AnonymousUser("ABC234")),
		string(scoreboard.SystemActor), "role:scoreboard",
	}
	for _, name := range made {
		if _, err := scoreboard.ParseClientUserID(name); err == nil {
			t.Errorf("%s is accepted as a client's user", name)
		}
		if _, err := scoreboard.ParseUserID(name); err != nil {
			t.Errorf("%s cannot be looked up: %v", name, err)
		}
		if user, err := scoreboard.ExternalUserID(name); err != nil || user.Reserved() {
			t.Errorf("the token of %s is for %s, %v", name, user, err)
		}
	}
	pseudonym := string(scoreboard.Pseudonym(key, scoreboard.GlobalBoard))
	for _, name := range append(made, pseudonym, "Team:Ants", "ERASED-ada", "\uff54eam:ants", "\uff5e"+pseudonym[1:],
		"∼"+pseudonym[1:], "~K3VQ7M2XH5BWC6TA") {
		p := &scoreboard.Profile{DisplayName: name}
		if err := p.Normalize(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.CheckReserved() == nil {
			t.Errorf("%s is accepted as a display name", name)
		}
	}
	for _, name := range []string{
		"me", "Team Ants", "erased", "~ada~", "~k3vq7m2xh5bwc6t", "k3vq7m2xh5bwc6ta", "role", "",
	} {
		p := &scoreboard.Profile{DisplayName: name}
		if err := p.CheckReserved(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
