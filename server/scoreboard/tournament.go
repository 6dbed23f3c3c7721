package scoreboard

import (
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The names of the rules.
const (
	joinOpen     = "open"
	joinRequired = "required"
)

// MaxPlayers is the largest maximum number of players of a period.
const MaxPlayers = 10_000_000

// JoinRule says who may submit to the periods of a board.
type JoinRule struct {
	Required   bool  // only users who have joined the period
	MaxPlayers int64 // of a period; 0: no limit
	Late       bool  // users may join a period that has begun
}

// ParseJoin parses the name of a rule, open or required; "" is open. It reports whether users must join.
func ParseJoin(s string) (required bool, err error) {
	switch s {
	case "", joinOpen:
		return false, nil
	case joinRequired:
		return true, nil
	}
	return false, Invalid("join", "join must be %s or %s", joinOpen, joinRequired)
}

// JoinChange is a change of a JoinRule. What is nil stays as it is.
type JoinChange struct {
	Required   *bool
	MaxPlayers *int64
	Late       *bool
}

// Apply changes the rule of a board. It returns an invalid_request if the board cannot have it.
func (c *JoinChange) Apply(b *Board) error {
	if c.Required != nil {
		b.Join.Required = *c.Required
		if !b.Join.Required && c.MaxPlayers == nil && c.Late == nil {
			b.Join = JoinRule{}
		}
	}
	if c.MaxPlayers != nil {
		b.Join.MaxPlayers = *c.MaxPlayers
	}
	if c.Late != nil {
		b.Join.Late = *c.Late
	}
	return b.checkJoin()
}

func (b *Board) checkJoin() error {
	j := &b.Join
	switch {
	case j.MaxPlayers < 0 || j.MaxPlayers > MaxPlayers:
		return Invalid("max_players", "max_players must be 0 (no limit) to %d", MaxPlayers)
	case j.Required && b.Period != PeriodSeason && b.Period != PeriodCron:
		return Invalid("join", "join=%s is for boards with the period season or cron", joinRequired)
	case !j.Required && j.MaxPlayers != 0:
		return Invalid("max_players", "max_players is for boards with join=%s", joinRequired)
	case !j.Required && j.Late:
		return Invalid("late_join", "late_join is for boards with join=%s", joinRequired)
	}
	return nil
}

// NotJoined returns the not_joined for a user who submits to a period without having joined it.
func (b *Board) NotJoined(user UserID) error {
	return Errorf(wire.CodeNotJoined, "user %s has not joined %s", user, b.ID)
}

// CheckJoin returns why nobody can join the period b now, or nil. It does not count players.
func (b *Board) CheckJoin(now time.Time) error {
	if err := b.CheckLateJoin(now); err != nil {
		return err
	}
	if !b.Join.Late && !now.Before(b.PeriodStart) {
		return Errorf(wire.CodeJoinClosed, "%s has begun, and its board allows no late joins", b.ID)
	}
	return nil
}

// CheckLateJoin is CheckJoin for a board that allows late joins.
func (b *Board) CheckLateJoin(now time.Time) error {
	if err := b.checkJoined(); err != nil {
		return err
	}
	if !now.Before(b.PeriodEnd) { // before its status: a period that has ended is frozen later
		return Errorf(wire.CodeJoinClosed, "%s has ended", b.ID)
	}
	if b.Status != StatusActive {
		return Errorf(wire.CodeBoardClosed, "board %s is %s", b.ID, b.Status)
	}
	return nil
}

// CheckLeave returns why nobody can leave the period b now, or nil.
func (b *Board) CheckLeave(now time.Time) error {
	if err := b.checkJoined(); err != nil {
		return err
	}
	if !now.Before(b.PeriodStart) {
		return Errorf(wire.CodeJoinClosed, "%s has begun; players can leave before the start only", b.ID)
	}
	return nil
}

// checkJoined returns a rule_violated if nobody joins the period b, as everybody may submit to it.
func (b *Board) checkJoined() error {
	if !b.Join.Required {
		return Errorf(wire.CodeRuleViolated, "board %s is open to everybody; nobody joins it", b.ID)
	}
	return nil
}

// Participation is the state of a period that users join, for one of them.
type Participation struct {
	Board   *Board    // the period
	User    UserID    // "": nobody is asked about
	Players int64     // who have joined, with the user
	Joined  time.Time // zero: the user has not
}

// Player is a user who has joined a period.
type Player struct {
	User   UserID
	Joined time.Time
}
