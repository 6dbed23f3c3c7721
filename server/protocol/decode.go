package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// DecodeIncrement parses the body of an increment strictly: one object, known fields
// at most once, a delta that is a whole number. It does not use encoding/json,
// which accepts duplicate fields and would take half the time of a request. Errors are
// scoreboard.Errors that name the field; beside one, the request holds the fields
// before it, so that the error body can carry the event id.
func DecodeIncrement(body []byte) (*wire.IncrementRequest, error) {
	s := scanner{b: body}
	r := &wire.IncrementRequest{}
	if err := s.increment(r); err != nil {
		return r, err
	}
	return r, s.end()
}

// DecodeBatch parses the body of a batch as strictly: {"items":[…]}. The list may be
// empty, but must be there.
func DecodeBatch(body []byte) (*wire.Batch, error) {
	s := scanner{b: body}
	b := &wire.Batch{}
	given := false
	err := s.object(func(name []byte) error {
		if string(name) != "items" {
			return unknown(name)
		}
		given = true
		return s.array("items", func() error {
			if len(b.Items) == wire.MaxBatch {
				return scoreboard.Invalid("items", "items must contain at most %d increments", wire.MaxBatch)
			}
			b.Items = append(b.Items, wire.IncrementRequest{})
			return s.increment(&b.Items[len(b.Items)-1])
		})
	})
	if err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	if !given {
		return nil, scoreboard.Invalid("items", "items is required")
	}
	return b, nil
}

func unknown(name []byte) error {
	const maxName = 64
	field := string(name[:min(len(name), maxName)])
	return scoreboard.Invalid(field, "unknown field %q", field)
}

func (s *scanner) increment(r *wire.IncrementRequest) error {
	r.WithoutDelta = true
	return s.object(func(name []byte) (err error) {
		switch string(name) {
		case "user_id":
			r.UserID, err = s.text("user_id")
		case "delta":
			r.WithoutDelta = false
			var text []byte
			r.Delta, text, err = s.delta("delta")
			var plain [20]byte
			if string(strconv.AppendInt(plain[:0], r.Delta, 10)) != string(text) {
				r.SignedDelta = string(text)
			}
		case "event_id":
			r.EventID, err = s.text("event_id")
		case "timestamp":
			r.Timestamp, err = s.text("timestamp")
		case "signature":
			r.Signature, err = s.text("signature")
		case "key_id":
			r.KeyID, err = s.text("key_id")
		case "board":
			r.Board, err = s.text("board")
		case "boards":
			r.Boards = []string{}
			err = s.array("boards", func() error {
				if len(r.Boards) == scoreboard.MaxBoards {
					return scoreboard.Invalid("boards", "boards must name at most %d boards", scoreboard.MaxBoards)
				}
				board, err := s.text("boards")
				r.Boards = append(r.Boards, board)
				return err
			})
		case "action":
			r.Action, err = s.text("action")
		case "action_token":
			r.ActionToken, err = s.text("action_token")
		case "attestation":
			r.Attestation, err = s.text("attestation")
		case "attributes":
			r.Attributes, err = s.attributes()
		case "if_period":
			r.IfPeriod, err = s.text("if_period")
		case "metadata":
			r.Metadata, err = s.metadata()
		case "subscore":
			r.Subscore = new(int64)
			*r.Subscore, _, err = s.delta("subscore")
		default:
			err = unknown(name)
		}
		return err
	})
}

// attributes parses the attributes of an increment, at most as many as are accepted.
func (s *scanner) attributes() (map[string]string, error) {
	values := make(map[string]string)
	err := s.object(func(name []byte) error {
		if len(values) == scoreboard.MaxAttributes {
			return scoreboard.Invalid("attributes", "an increment has at most %d attributes", scoreboard.MaxAttributes)
		}
		key := string(name)
		value, err := s.text("attributes")
		values[key] = value
		return err
	})
	return values, err
}

// metadata takes the text of an object, which ParseMetadata checks.
func (s *scanner) metadata() (wire.Object, error) {
	s.space()
	d := json.NewDecoder(bytes.NewReader(s.b[s.i:]))
	var text json.RawMessage
	if err := d.Decode(&text); err != nil || text[0] != '{' {
		return "", scoreboard.Invalid("metadata", "metadata must be an object")
	}
	s.i += int(d.InputOffset())
	return wire.Object(text), nil
}

// DecodeUsers parses the body of a list of at most limit users as strictly.
func DecodeUsers(body []byte, limit int) (*wire.Users, error) {
	s := scanner{b: body}
	u := &wire.Users{}
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "board":
			u.Board, err = s.text("board")
			if err == nil && u.Board == "" {
				err = scoreboard.Invalid("board", "board must not be empty")
			}
		case "user_ids":
			err = s.array("user_ids", func() error {
				if len(u.UserIDs) == limit {
					return scoreboard.Invalid("user_ids", "user_ids must contain at most %d ids", limit)
				}
				user, err := s.text("user_ids")
				u.UserIDs = append(u.UserIDs, user)
				return err
			})
		default:
			err = unknown(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(u.UserIDs) == 0 {
		return nil, scoreboard.Invalid("user_ids", "user_ids must contain 1 to %d ids", limit)
	}
	return u, s.end()
}

// DecodeProfile parses the body of a profile as strictly.
func DecodeProfile(body []byte) (*wire.ProfileRequest, error) {
	s := scanner{b: body}
	p := &wire.ProfileRequest{}
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "display_name":
			p.DisplayName, err = s.text("display_name")
		case "avatar_url":
			p.AvatarURL, err = s.text("avatar_url")
		default:
			err = unknown(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, s.end()
}
