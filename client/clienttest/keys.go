package clienttest

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var errSignature = scoreboard.Errorf(scoreboard.CodeInvalidSignature, "invalid signature")

// signs reports whether a signature is by a valid secret of a valid key.
func (s *Server) signs(id string, text []byte, signature string) bool {
	for _, k := range s.keys {
		if k.KeyID == id && k.RevokedAt == nil {
			former := s.former[id]
			return protocol.Sign(k.Secret, text) == signature || former != "" &&
				protocol.Sign(former, text) == signature
		}
	}
	return false
}

func fresh(t time.Time) bool { return time.Since(t).Abs() <= time.Minute }

func (s *Server) checkFields(r *protocol.IncrementRequest) error {
	t, err := time.Parse(time.RFC3339, r.Timestamp)
	if err != nil || !fresh(t) || !s.signs(r.KeyID, r.FieldText(), r.Signature) {
		return errSignature
	}
	return nil
}

func (s *Server) checkHeaders(r *http.Request, body []byte) error {
	key, timestamp := r.Header.Get(protocol.HeaderKey), r.Header.Get(protocol.HeaderTimestamp)
	n, err := strconv.ParseInt(timestamp, 10, 64)
	text := protocol.HeaderText(r.Method, r.URL.RequestURI(), key, timestamp, body)
	given, ok := strings.CutPrefix(r.Header.Get(protocol.HeaderSignature), protocol.SignatureVersion)
	if err != nil || !ok || !fresh(time.Unix(n, 0)) || !s.signs(key, text, given) {
		return errSignature
	}
	return nil
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out protocol.Keys
	for _, k := range s.keys {
		k.Secret = ""
		out.Keys = append(out.Keys, k)
	}
	write(w, 200, out)
}

func (s *Server) createKey(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	var in protocol.KeyRequest
	if err := decode(body, &in); err != nil {
		refuse(w, 400, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := protocol.Key{
		KeyID: fmt.Sprintf("k%d", len(s.keys)+1), Name: in.Name,
		Secret: "sk_" + rand.Text(), CreatedAt: time.Now().UTC(), Generation: 1,
		Boards: in.Boards, UserPrefix: in.UserPrefix, MaxDelta: in.MaxDelta, PerMinute: in.PerMinute,
	}
	if ttl, err := time.ParseDuration(in.TTL); err == nil {
		expires := key.CreatedAt.Add(ttl)
		key.ExpiresAt = &expires
	}
	s.keys = append(s.keys, key)
	write(w, 201, key)
}

func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.keys {
		if s.keys[i].KeyID == r.PathValue("id") {
			now := time.Now().UTC()
			s.keys[i].RevokedAt = &now
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "no such key"))
}

func (s *Server) rotateKey(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	var in protocol.RotateRequest
	if err := decode(body, &in); err != nil {
		refuse(w, 400, err)
		return
	}
	overlap, err := time.ParseDuration(in.Overlap)
	if err != nil {
		refuse(w, 400, scoreboard.Invalid("overlap", "%v", err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.keys {
		if k := &s.keys[i]; k.KeyID == r.PathValue("id") {
			retires := time.Now().UTC().Add(overlap)
			s.former[k.KeyID] = ""
			if overlap > 0 {
				s.former[k.KeyID], k.RetiresAt = k.Secret, &retires
			}
			k.Secret = "sk_" + rand.Text()
			k.Generation++
			write(w, 200, *k)
			return
		}
	}
	refuse(w, 404, scoreboard.Errorf(scoreboard.CodeNotFound, "no such key"))
}
