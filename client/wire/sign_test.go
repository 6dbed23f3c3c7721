package wire_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/protocol"
)

const vectors = "../../testdata/signing.json"

func TestFieldText(t *testing.T) {
	t.Parallel()
	all := fixtures.ReadSigningVectors(t, vectors)
	for _, v := range all.Fields {
		r, err := protocol.DecodeIncrement(v.Increment)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if got := string(r.FieldText()); got != v.Text {
			t.Errorf("%s: got the text %q, want %q", v.Name, got, v.Text)
		}
		if got := wire.Sign(all.Secret, []byte(v.Text)); got != v.Signature {
			t.Errorf("%s: got the signature %s, want %s", v.Name, got, v.Signature)
		}
	}
}

func TestHeaderText(t *testing.T) {
	t.Parallel()
	all := fixtures.ReadSigningVectors(t, vectors)
	for _, v := range all.Headers {
		text := wire.HeaderText(v.Method, v.Target, all.KeyID, v.Timestamp, []byte(v.Body))
		if string(text) != v.Text {
			t.Errorf("%s: got the text %q, want %q", v.Name, text, v.Text)
		}
		if got := wire.SignatureVersion + wire.Sign(all.Secret, text); got != v.Signature {
			t.Errorf("%s: got the signature %s, want %s", v.Name, got, v.Signature)
		}
	}
}
