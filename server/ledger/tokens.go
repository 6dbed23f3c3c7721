package ledger

import (
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ActionTokens are the action tokens of a batch. Each is valid for one event.
type ActionTokens struct {
	Wanted     [][16]byte // to look up
	WantedFrom []scoreboard.UserID
	// Used are the tokens that the batch uses, UsedFor their events, UsedBy their users.
	Used, UsedFor [][16]byte
	UsedBy        []scoreboard.UserID

	spent map[[16]byte][16]byte // token → event
}

func (t *ActionTokens) want(in *scoreboard.Increment) {
	if in.ActionID != [16]byte{} {
		t.Wanted, t.WantedFrom = append(t.Wanted, in.ActionID), append(t.WantedFrom, in.User)
		if t.spent == nil {
			t.spent = make(map[[16]byte][16]byte)
		}
	}
}

// AddUsed adds a token that an earlier event used.
func (t *ActionTokens) AddUsed(id, event [16]byte) { t.spent[id] = event }

// check returns token_used where another event has used the token.
func (t *ActionTokens) check(in *scoreboard.Increment) error {
	if _, used := t.spent[in.ActionID]; used {
		return &scoreboard.Error{
			Code: wire.CodeTokenUsed, Field: "action_token",
			Message: "the action token was already used for another event",
		}
	}
	return nil
}

// use marks the token of a recorded increment as used.
func (t *ActionTokens) use(in *scoreboard.Increment) {
	if in.ActionID == [16]byte{} {
		return
	}
	t.spent[in.ActionID] = in.Event.UUID
	t.Used, t.UsedFor = append(t.Used, in.ActionID), append(t.UsedFor, in.Event.UUID)
	t.UsedBy = append(t.UsedBy, in.User)
}
