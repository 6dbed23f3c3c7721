package scoreboard

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// AuditSeal is a place in the chain of the audit trail: a row's number in it, from 1,
// and the hash (SHA-256) over that row and everything before it. 0 is the empty chain.
type AuditSeal struct {
	Seq  int64
	Hash []byte
}

// String returns the number and the hash as "12:9f86…", in hexadecimal.
func (s AuditSeal) String() string { return fmt.Sprintf("%d:%x", s.Seq, s.Hash) }

// PatternAuditSeal is what ParseAuditSeal accepts.
const PatternAuditSeal = "^[0-9]{1,18}:[0-9a-f]{64}$"

var auditSeal = regexp.MustCompile(PatternAuditSeal)

// ParseAuditSeal reads what String returns. The error is an invalid_request.
func ParseAuditSeal(text string) (s AuditSeal, err error) {
	if !auditSeal.MatchString(text) {
		return s, Invalid("head", "head must be a number and a hash, as in the server's log: 12:9f86…")
	}
	seq, hash, _ := strings.Cut(text, ":")
	if s.Seq, err = strconv.ParseInt(seq, 10, 64); err == nil {
		s.Hash, err = hex.DecodeString(hash)
	}
	return s, err
}

// AuditChain is the result of a check of the audit trail's chain.
type AuditChain struct {
	Head     AuditSeal // the last seal that was checked
	Unsealed int64     // rows that wait for their seal
	// UnsealedSince is the time of the oldest row that waits; zero without one.
	UnsealedSince time.Time
	Break         *AuditBreak // the first one; nil: the chain is intact
}

// AuditBreak is where the trail is not what was sealed.
type AuditBreak struct {
	Seq     int64 // the place in the chain; 0 for a row that is not in it
	ID      int64 // of the audit row; 0 if it is not known
	Problem string
}
