package conformance_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

type requestVector struct {
	Name   string            `json:"name"`
	Prefix string            `json:"prefix,omitempty"`
	Call   call              `json:"call"`
	Method string            `json:"method"`
	Path   []string          `json:"path"`
	Query  map[string]string `json:"query"`
	Body   map[string]any    `json:"body,omitempty"`
	Signed signedBy          `json:"signed"`
}

// signedBy is the key of a client, and the scheme by which it signs a request: fields or
// headers. Without a key the request has no signature.
type signedBy struct {
	KeyID  string `json:"key_id"`
	Secret string `json:"secret"`
	Scheme string `json:"scheme"`
}

// check compares the signature of a request for a path and a query, and removes it from the body.
func (by *signedBy) check(t *testing.T, name, target string, got *seen) {
	t.Helper()
	header := got.req.Header.Get(wire.HeaderSignature)
	var want string
	switch by.Scheme {
	case "":
	case "fields":
		var r wire.IncrementRequest
		if err := json.Unmarshal(got.raw, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.KeyID != by.KeyID || r.Signature != wire.Sign(by.Secret, r.FieldText()) {
			t.Errorf("%s: got the signature %s of key %s", name, r.Signature, r.KeyID)
		}
		delete(got.body, "key_id")
		delete(got.body, "signature")
	case "headers":
		stamp := got.req.Header.Get(wire.HeaderTimestamp)
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
			t.Errorf("%s: got the time %s of the signature", name, stamp)
		}
		if key := got.req.Header.Get(wire.HeaderKey); key != by.KeyID {
			t.Errorf("%s: got the key %s, want %s", name, key, by.KeyID)
		}
		text := wire.HeaderText(got.req.Method, target, by.KeyID, stamp, got.raw)
		want = wire.SignatureVersion + wire.Sign(by.Secret, text)
	default:
		t.Fatalf("%s: unknown scheme %s", name, by.Scheme)
	}
	if header != want {
		t.Errorf("%s: got the signature %q in the headers, want %q", name, header, want)
	}
}

// checkTime compares the time of an increment with the clock, and replaces it.
func checkTime(t *testing.T, name string, increment map[string]any) {
	t.Helper()
	stamp, _ := increment["timestamp"].(string)
	if at, err := time.Parse(time.RFC3339, stamp); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("%s: got the timestamp %q", name, stamp)
	}
	increment["timestamp"] = "$timestamp"
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[requestVector]](t, "requests.json").Cases {
		s := &script{responses: []response{{Status: 500}}}
		_, _ = v.Call.do(t, newSigningClient(t, s, v.Prefix, 1, &v.Signed)) // the response does not matter
		if len(s.seen) != 1 {
			t.Errorf("%s: got %d requests, want 1", v.Name, len(s.seen))
			continue
		}
		got := s.seen[0]
		target, found := strings.CutPrefix(got.req.URL.RequestURI(), v.Prefix+"/v1/")
		if !found {
			t.Errorf("%s: got the path %s, want the prefix %s", v.Name, got.req.URL, v.Prefix)
		}
		target = "/v1/" + target
		var path []string
		escaped, _, _ := strings.Cut(target, "?")
		for p := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
			part, err := url.PathUnescape(p)
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
			path = append(path, part)
		}
		v.Signed.check(t, v.Name, target, &got)
		if v.Call.Submit != nil || v.Call.Boards != nil {
			checkTime(t, v.Name, got.body)
		}
		if items, ok := got.body["items"].([]any); ok {
			for _, item := range items {
				increment, _ := item.(map[string]any)
				checkTime(t, v.Name, increment)
			}
		}
		if got.req.Method != v.Method || !slices.Equal(path, v.Path) ||
			!reflect.DeepEqual(single(got.req.URL.Query()), v.Query) || !reflect.DeepEqual(got.body, v.Body) {
			t.Errorf("%s: got %s %s %v", v.Name, got.req.Method, got.req.URL, got.body)
		}
	}
}
