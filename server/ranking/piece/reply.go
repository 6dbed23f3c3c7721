package piece

import (
	"fmt"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Reply is the rest of a script's reply and how fresh the board is; the first
// malformed field sets err.
type Reply struct {
	Values []any
	AsOf   time.Time
	State  scoreboard.BoardState
	Err    error
}

// NewReply returns a reply of want values.
func NewReply(values []any, want int) (*Reply, error) {
	if len(values) != want {
		return nil, fmt.Errorf("a script replied with %d values, want %d", len(values), want)
	}
	return &Reply{Values: values}, nil
}

// Basis takes the first facts of a reply: server, since, asof, built, marked.
func (r *Reply) Basis() Basis {
	optional := func(i int) int64 {
		if r.Values[i] == nil {
			return 0
		}
		return r.Int(i)
	}
	b := Basis{Since: optional(1), AsOf: optional(2), Built: MicroTime(r.Int(3)), RebuildBegan: optional(4)}
	b.Server, _ = r.Values[0].(string)
	r.Values = r.Values[5:]
	return b
}

// Freshness takes the record of a bucket, which comes first: field, value, ….
func (r *Reply) Freshness() *Freshness {
	flat, ok := r.Values[0].([]any)
	if !ok {
		r.fail(0)
	}
	record := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		record[field], _ = flat[i+1].(string)
	}
	r.Values = r.Values[1:]
	return ParseFreshness(record)
}

// Entries calls do with the rows from index i on, which alternate member and key.
// first is the 0-based rank of the first row.
func (r *Reply) Entries(i int, first int64, o Orders, do func(e scoreboard.Entry, reached time.Time)) {
	for ; i+1 < len(r.Values); i += 2 {
		member := r.Text(i)
		key, err := ParseKey(r.Text(i + 1))
		if err != nil || len(member) <= o.Width() {
			r.fail(i)
			return
		}
		first++
		do(o.Entry(first, key, member), o.ReachedAt(member))
	}
}

// Text returns value i as text.
func (r *Reply) Text(i int) string {
	s, ok := r.Values[i].(string)
	if !ok {
		r.fail(i)
	}
	return s
}

// Int returns value i as a number.
func (r *Reply) Int(i int) int64 {
	switch v := r.Values[i].(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			r.fail(i)
		}
		return n
	}
	r.fail(i)
	return 0
}

func (r *Reply) fail(i int) {
	if r.Err == nil {
		r.Err = fmt.Errorf("field %d of a script's reply is malformed: %v", i, r.Values[i])
	}
}
