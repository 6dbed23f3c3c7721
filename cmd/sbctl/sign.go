package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// signed is a request that was signed but not sent.
type signed struct {
	Scheme    string `json:"scheme"` // "fields" or "headers"
	KeyID     string `json:"key_id"`
	Timestamp string `json:"timestamp"`
	Text      string `json:"text"` // what was signed
	Signature string `json:"signature"`
	Curl      string `json:"curl"`
}

func newSignCmd(p *program) *cobra.Command {
	var in wire.IncrementRequest
	var boards []string
	var at, data string
	var subscore int64
	cmd := &cobra.Command{
		Use: "sign [METHOD PATH]", Short: "Sign a request and print it instead of sending it",
		Long: `Sign a request and print the signed text, the signature and a curl command, to compare
them with those of another implementation. Nothing is sent.

Without arguments, sign an increment by its fields: user, delta, event id and time, and
the boards and the action if they are given; with --subscore by its headers, because the
fields do not cover it. With METHOD and PATH, sign a request by its
headers, with the body --data. The curl command takes the token from SBCTL_TOKEN. A
server accepts a signature for a minute.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return usagef("PATH is required")
			}
			if len(args) > 2 {
				return usagef("unexpected argument %q", args[2])
			}
			return nil
		},
		Example: trimExamples(`
  sbctl sign --user alice --delta 5 --event-id match-8841
  sbctl sign POST /v1/boards --data '{"board":"arena"}'`),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.connection()
			if err != nil {
				return err
			}
			if s.KeyID.Value == "" || s.KeySecret.Value == "" {
				return &hintedError{
					fmt.Errorf("no signing key is set"),
					"set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" creates a key",
				}
			}
			now := time.Now()
			if at != "" {
				if now, err = timeFlag("timestamp", at); err != nil {
					return err
				}
			}
			var r *http.Request
			var of signed
			if len(args) == 0 {
				if in.UserID == "" || !cmd.Flags().Changed("delta") {
					return usagef("--user and --delta are required, or METHOD and PATH")
				}
				setBoards(&in, boards)
				if cmd.Flags().Changed("subscore") {
					in.Subscore = &subscore
				}
				r, of, err = signIncrement(cmd, s, &in, now)
			} else {
				r, of, err = signRequest(cmd, s, args[0], args[1], data, now)
			}
			if err != nil {
				return err
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			of.Curl = curlLine(r, body)
			if err := p.print(of, func() *table { return signedTable(&of) }); err != nil || p.structured() {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "\n%s\n", of.Curl)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.UserID, "user", "", "user id of the increment")
	flags.Int64Var(&in.Delta, "delta", 0, "amount to add; on best and latest boards the score")
	flags.StringVar(&in.EventID, "event-id", "", "event id (default: a new one)")
	flags.StringSliceVar(&boards, "board", nil, "board, or several (default: none is named)")
	flags.StringVar(&in.Action, "action", "", "name of the user's action")
	flags.Int64Var(&subscore, "subscore", 0, "what decides among equal scores, on boards that have subscores")
	flags.StringVar(&data, "data", "", "body of the request with METHOD and PATH; @FILE reads a file")
	flags.StringVar(&at, "timestamp", "", "`time` of the signature (default: now)")
	return cmd
}

func setBoards(in *wire.IncrementRequest, boards []string) {
	if len(boards) == 1 {
		in.Board = boards[0]
	} else {
		in.Boards = boards
	}
}

// signIncrement signs by the fields of an increment, or by the headers if they do not cover all of it.
func signIncrement(
	cmd *cobra.Command, s connection, in *wire.IncrementRequest, now time.Time,
) (*http.Request, signed, error) {
	if in.EventID == "" {
		in.EventID = client.NewEventID()
	}
	if in.Subscore != nil {
		in.Timestamp = now.UTC().Format(time.RFC3339)
	} else {
		client.Signer{KeyID: s.KeyID.Value, Secret: s.KeySecret.Value}.Fields(in, now)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(in); err != nil {
		return nil, signed{}, err
	}
	const path = "/v1/scores/increment"
	if in.Subscore != nil {
		return signRequest(cmd, s, http.MethodPost, path, string(bytes.TrimSpace(body.Bytes())), now)
	}
	r, err := newSignedRequest(cmd, s, http.MethodPost, path, bytes.TrimSpace(body.Bytes()))
	return r, signed{
		Scheme: "fields", KeyID: in.KeyID, Timestamp: in.Timestamp, Text: string(in.FieldText()),
		Signature: in.Signature,
	}, err
}

// signRequest signs by the headers of a request.
func signRequest(
	cmd *cobra.Command, s connection, method, path, data string, now time.Time,
) (*http.Request, signed, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, signed{}, usagef("PATH must begin with /, not %q", path)
	}
	body := []byte(data)
	if name, isFile := strings.CutPrefix(data, "@"); isFile {
		var err error
		if body, err = os.ReadFile(name); err != nil {
			return nil, signed{}, err
		}
	}
	method = strings.ToUpper(method)
	r, err := newSignedRequest(cmd, s, method, path, body)
	if err != nil {
		return nil, signed{}, usagef("%w", err)
	}
	prefix := strings.TrimSuffix(r.URL.RequestURI(), path)
	client.Signer{KeyID: s.KeyID.Value, Secret: s.KeySecret.Value, Prefix: prefix}.Headers(r, body, now)
	timestamp := strconv.FormatInt(now.Unix(), 10)
	return r, signed{
		Scheme: "headers", KeyID: s.KeyID.Value, Timestamp: timestamp,
		Text:      string(wire.HeaderText(method, path, s.KeyID.Value, timestamp, body)),
		Signature: r.Header.Get(wire.HeaderSignature),
	}, nil
}

func newSignedRequest(cmd *cobra.Command, s connection, method, path string, body []byte) (*http.Request, error) {
	address := strings.TrimSuffix(s.Server.Value, "/") + path
	r, err := http.NewRequestWithContext(cmd.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.Token.Value != "" {
		r.Header.Set("Authorization", "Bearer")
	}
	return r, nil
}

// signedTable shows the text with its line breaks as \n, because each byte counts.
func signedTable(of *signed) *table {
	t := newTable()
	t.add("scheme", of.Scheme)
	t.add("key", of.KeyID)
	t.add("timestamp", of.Timestamp)
	t.add("text", of.Text)
	t.add("signature", of.Signature)
	return t
}
