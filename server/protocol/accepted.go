package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// wireIncrement is the JSON of an increment that was accepted and published, and is
// not recorded yet.
type wireIncrement struct {
	Schema     int                  `json:"schema"`
	User       scoreboard.UserID    `json:"user_id"`
	Delta      int64                `json:"delta"`
	Event      string               `json:"event_id"`
	Boards     []scoreboard.BoardID `json:"boards"`
	Action     string               `json:"action,omitempty"`
	Client     time.Time            `json:"timestamp"`
	AcceptedAt time.Time            `json:"accepted_at"`
	KeyID      string               `json:"key_id,omitempty"`
	Signer     string               `json:"signer,omitempty"`
	Address    string               `json:"address,omitempty"`
	Agent      string               `json:"user_agent,omitempty"`
	Trace      string               `json:"trace,omitempty"`
	ActionID   string               `json:"action_id,omitempty"` // of the action token, which is verified already
	Attested   bool                 `json:"attested,omitempty"`
	Server     bool                 `json:"server,omitempty"`
	Country    string               `json:"country,omitempty"`
	ByRules    bool                 `json:"by_rules,omitempty"`
	RuleBoards []scoreboard.BoardID `json:"rule_boards,omitempty"`
	Attributes map[string]string    `json:"attributes,omitempty"`
	IfPeriod   scoreboard.BoardID   `json:"if_period,omitempty"`
	Metadata   wire.Object          `json:"metadata,omitempty"`
	Subscore   *scoreboard.Score    `json:"subscore,omitempty"`
}

// EncodeAccepted encodes an increment that the server has accepted, with the time of
// that.
func EncodeAccepted(in *scoreboard.Increment) []byte {
	w := wireIncrement{
		Schema: Schema, User: in.User, Delta: in.Delta, Event: in.Event.Text, Boards: in.Boards, Action: in.Action,
		Client: scoreboard.WritableTime(in.Client), AcceptedAt: scoreboard.WritableTime(in.Accepted),
		KeyID: in.KeyID, Signer: in.Signer, Address: in.Address, Agent: in.Agent,
		Trace: in.Trace, Attested: in.Attested, Server: in.Server, Country: in.Country,
		ByRules: in.ByRules, RuleBoards: in.RuleBoards, Attributes: in.Attributes.Map(),
		IfPeriod: in.IfPeriod, Metadata: wire.Object(in.Metadata), Subscore: in.Subscore,
	}
	if in.ActionID != [16]byte{} {
		w.ActionID = scoreboard.FormatUUID(in.ActionID)
	}
	b, err := json.Marshal(w)
	if err != nil {
		panic(err) // plain fields always marshal, and every time can be written
	}
	return b
}

// DecodeAccepted parses what EncodeAccepted has written, as strictly as a request. It returns ErrNewerSchema for one
// of a newer build, also if that has fields which this build does not know.
func DecodeAccepted(value []byte) (*scoreboard.Increment, error) {
	var w wireIncrement
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	err := d.Decode(&w)
	if err != nil {
		var newer struct {
			Schema int `json:"schema"`
		}
		if json.Unmarshal(value, &newer) == nil {
			w.Schema = newer.Schema
		}
	}
	if w.Schema > Schema {
		return nil, fmt.Errorf("schema %d: %w", w.Schema, ErrNewerSchema)
	}
	if err != nil || d.More() {
		return nil, fmt.Errorf("decode an accepted increment: invalid JSON: %w", err)
	}
	user, err := scoreboard.ParseUserID(string(w.User))
	if err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	event, err := scoreboard.ParseEventID(user, w.Event)
	if err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	if err := scoreboard.CheckAction(w.Action); err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	if len(w.Boards) == 0 || len(w.Boards) > scoreboard.MaxBoards || w.AcceptedAt.IsZero() ||
		!scoreboard.IsWritable(w.AcceptedAt) || !scoreboard.IsWritable(w.Client) {
		return nil, fmt.Errorf("decode an accepted increment: boards, accepted_at or timestamp are missing or invalid")
	}
	for _, b := range w.Boards {
		if _, err := scoreboard.ParseBoardID(string(b)); err != nil {
			return nil, fmt.Errorf("decode an accepted increment: %w", err)
		}
	}
	attributes, err := scoreboard.ParseAttributes(w.Attributes)
	if err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	if err := scoreboard.CheckIfPeriod(w.IfPeriod, w.Boards); err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	metadata, err := ParseMetadata(w.Metadata)
	if err != nil {
		return nil, fmt.Errorf("decode an accepted increment: %w", err)
	}
	if w.Subscore != nil && !w.Subscore.InRange() {
		return nil, fmt.Errorf("decode an accepted increment: subscore is not within ±%d", int64(scoreboard.MaxScore))
	}
	var action [16]byte
	if w.ActionID != "" {
		id, err := scoreboard.ParseUUID(w.ActionID)
		if err != nil {
			return nil, fmt.Errorf("decode an accepted increment: %w", err)
		}
		action = id
	}
	return &scoreboard.Increment{
		User: user, Delta: w.Delta, Event: event, Boards: w.Boards, Action: w.Action, Client: w.Client,
		Accepted: w.AcceptedAt, Source: scoreboard.SourceAsync, KeyID: w.KeyID, Signer: w.Signer, Address: w.Address,
		Agent: w.Agent, Trace: w.Trace, ActionID: action, Attested: w.Attested, Server: w.Server, Country: w.Country,
		ByRules: w.ByRules, RuleBoards: w.RuleBoards, Attributes: attributes,
		IfPeriod: w.IfPeriod, Metadata: metadata, Subscore: w.Subscore,
	}, nil
}
