package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// errPrinted ends a command whose request was printed instead of sent.
var errPrinted = errors.New("the request was printed instead of sent")

// curlPrinter is a transport that prints requests as curl commands and sends none.
type curlPrinter struct {
	to     io.Writer
	prefix string // the escaped path of the server's address, which is not signed
}

// prefixOf is the escaped path of a server's address, without a slash at the end.
func prefixOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // client.New says so
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

func (t curlPrinter) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(t.to, curlCommand(r, t.prefix, body)); err != nil {
		return nil, err
	}
	return nil, errPrinted
}

// Names of shell variables in a curl command.
const (
	varToken     = "$SBCTL_TOKEN"      //nolint:gosec // a name
	varSecret    = "$SBCTL_KEY_SECRET" //nolint:gosec // a name
	varTimestamp = "$timestamp"
	varSignature = "$signature"
)

// curlCommand is a request as lines of POSIX shell that send it with curl. The token and
// the key's secret are variables, and the lines compute time and signature, because a
// signature is valid for a minute only. prefix is the escaped path of the server's address.
func curlCommand(r *http.Request, prefix string, body []byte) string {
	var b strings.Builder
	headers := shownHeaders(r)
	data := string(body)
	if key := r.Header.Get(wire.HeaderKey); key != "" {
		target := strings.TrimPrefix(r.URL.RequestURI(), prefix)
		text := wire.HeaderText(r.Method, target, key, varTimestamp, body)
		b.WriteString(signingLines("date +%s", text))
		headers.Set(wire.HeaderKey, key)
		headers.Set(wire.HeaderTimestamp, varTimestamp)
		headers.Set(wire.HeaderSignature, wire.SignatureVersion+varSignature)
	} else if text, signed := fieldSigned(r, &data); text != nil {
		b.WriteString(signingLines("date -u +%Y-%m-%dT%H:%M:%SZ", text))
		if !signed {
			b.Reset()
			b.WriteString("timestamp=$(date -u +%Y-%m-%dT%H:%M:%SZ)\n")
		}
	}
	return b.String() + curl(r, headers, data, " \\\n  ")
}

// curlLine is a signed request as one line of POSIX shell. Only the token is a variable.
func curlLine(r *http.Request, body []byte) string {
	headers := shownHeaders(r)
	for _, name := range []string{wire.HeaderKey, wire.HeaderTimestamp, wire.HeaderSignature} {
		if value := r.Header.Get(name); value != "" {
			headers.Set(name, value)
		}
	}
	return strings.TrimSpace(curl(r, headers, string(body), " "))
}

// shownHeaders are the headers that a request needs, with the token as a variable, and its
// trace.
func shownHeaders(r *http.Request) http.Header {
	headers := http.Header{}
	for _, name := range []string{"Accept", "Content-Type", "Traceparent"} {
		if value := r.Header.Get(name); value != "" {
			headers.Set(name, value)
		}
	}
	if r.Header.Get("Authorization") != "" {
		headers.Set("Authorization", "Bearer "+varToken)
	}
	return headers
}

// curl is the curl command of a request. between separates its options.
func curl(r *http.Request, headers http.Header, data, between string) string {
	var b strings.Builder
	b.WriteString("curl -sS")
	if headers.Get("Accept") == "text/event-stream" {
		b.WriteString(" -N")
	}
	implied := http.MethodGet
	if data != "" {
		implied = http.MethodPost
	}
	if r.Method != implied {
		b.WriteString(" -X " + r.Method)
	}
	b.WriteString(" " + shellQuote(r.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		b.WriteString(between + "-H " + shellQuote(name+": "+headers.Get(name)))
	}
	if data != "" {
		b.WriteString(between + "--data-binary " + shellQuote(data))
	}
	return b.String() + "\n"
}

// fieldSigned prepares the body of an increment, whose signature is one of its fields: it
// replaces the time and the signature by variables and returns the text to sign, nil for
// other requests. signed is false if the increment has no signature.
func fieldSigned(r *http.Request, body *string) (text []byte, signed bool) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/scores/increment") {
		return nil, false
	}
	var in wire.IncrementRequest
	if json.Unmarshal([]byte(*body), &in) != nil {
		return nil, false
	}
	in.Timestamp = varTimestamp
	if signed = in.Signature != ""; signed {
		in.Signature = varSignature
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(in) != nil {
		return nil, false
	}
	*body = strings.TrimSpace(b.String())
	return in.FieldText(), signed
}

// signingLines set the variables timestamp, from a command, and signature, of a text.
func signingLines(clock string, text []byte) string {
	return fmt.Sprintf("timestamp=$(%s)\nsignature=$(printf %%s %s |\n"+
		"  openssl dgst -sha256 -hmac \"%s\" -r | cut -d' ' -f1)\n", clock, shellQuote(string(text)), varSecret)
}

// shellVariables are the variables that keep their meaning in a quoted text.
var shellVariables = strings.NewReplacer(varToken, "", varTimestamp, "", varSignature, "")

// shellQuote quotes a text for a POSIX shell, in which the variables of a curl command
// keep their meaning.
func shellQuote(text string) string {
	rest := shellVariables.Replace(text)
	if rest != text && !strings.ContainsAny(rest, "\"\\$`!\n") {
		return `"` + text + `"`
	}
	quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	for _, name := range []string{varToken, varTimestamp, varSignature} {
		quoted = strings.ReplaceAll(quoted, name, `'"`+name+`"'`)
	}
	return quoted
}
