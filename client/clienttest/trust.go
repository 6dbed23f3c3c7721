package clienttest

import (
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// trust is what the fake knows of operators' work. s.mu guards it.
type trust struct {
	audit []protocol.AuditEntry // the oldest first
}

func (s *Server) trustRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/admin/audit", s.listAudit)
}

// audited adds an entry; the caller holds s.mu.
func (s *Server) audited(r *http.Request, who, action, target, reason string) {
	s.audit = append(s.audit, protocol.AuditEntry{
		ID: int64(len(s.audit) + 1), At: time.Now().UTC(), Who: who, Address: "127.0.0.1", UserAgent: r.UserAgent(),
		RequestID: "req-test", Action: action, Target: target, Reason: reason,
	})
}

func (s *Server) listAudit(w http.ResponseWriter, r *http.Request) {
	if !admin(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	out := protocol.AuditEntries{Entries: []protocol.AuditEntry{}}
	for i := len(s.audit) - 1; i >= 0; i-- {
		e := s.audit[i]
		if matches(q.Get("who"), e.Who) && matches(q.Get("action"), e.Action) && matches(q.Get("target"), e.Target) {
			out.Entries = append(out.Entries, e)
		}
	}
	write(w, 200, out)
}

func matches(want, got string) bool { return want == "" || want == got }
