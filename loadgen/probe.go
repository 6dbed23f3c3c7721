package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// prober asks the server for what it must refuse, one by one, before the load.
type prober struct {
	http   *http.Client
	server Server
	user   string // whose score the probes move, and no other
	token  string

	expected map[string]int64 // what counted, by user
	refused  []string         // event ids that must not be in the ledger
}

// maxLimited bounds how long a probe waits where its address is limited.
const maxLimited = 70 * time.Second

// reply is an answer, undigested.
type reply struct {
	status     int
	retryAfter string
	NewScore   int64  `json:"new_score"`
	Replayed   bool   `json:"replayed"`
	ID         string `json:"processed_event_id"`
	ErrorCode  string `json:"error_code"`
}

func (p *prober) post(ctx context.Context, token string, r *protocol.IncrementRequest) (reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	for waited := time.Duration(0); ; {
		out, err := p.once(ctx, token, body)
		// Wrong credentials before this run have used the address's allowance up.
		after, _ := strconv.Atoi(out.retryAfter)
		wait := time.Duration(max(after, 1)) * time.Second
		if err != nil || out.status != http.StatusTooManyRequests || token != p.token || waited+wait > maxLimited {
			return out, err
		}
		waited += wait
		if !pause(ctx, wait) {
			return out, ctx.Err()
		}
	}
}

func (p *prober) once(ctx context.Context, token string, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.server.URL, "/")+"/v1/scores/increment", bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := p.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return reply{}, err
	}
	out := reply{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After")}
	_ = json.Unmarshal(b, &out) // an answer that is none fails its probe
	return out, nil
}

// signatures sends what is signed wrongly: all of it must get the same 401.
func (p *prober) signatures(ctx context.Context, t *tally) error {
	good := client.Signer{KeyID: p.server.KeyID, Secret: p.server.KeySecret}
	now := time.Now()
	for _, c := range []struct {
		signer client.Signer
		at     time.Time
	}{
		{good, now.Add(-90 * time.Second)},
		{good, now.Add(90 * time.Second)},
		{client.Signer{KeyID: good.KeyID, Secret: good.Secret + "x"}, now},
		{client.Signer{KeyID: "no-such-key", Secret: good.Secret}, now},
		{client.Signer{}, now},
	} {
		r := &protocol.IncrementRequest{UserID: p.user, Delta: 7, EventID: client.NewEventID()}
		c.signer.Fields(r, c.at)
		out, err := p.post(ctx, p.token, r)
		if err != nil {
			return fmt.Errorf("probe the signature: %w", err)
		}
		t.of++
		if out.status == http.StatusUnauthorized {
			t.rejected++
		}
		if out.status == http.StatusOK {
			p.expected[p.user] += 7
		} else {
			p.refused = append(p.refused, r.EventID)
		}
	}
	return nil
}

// replays sends an increment again and again, then its event id with another
// delta.
func (p *prober) replays(ctx context.Context, replays, conflicts *tally) error {
	signer := client.Signer{KeyID: p.server.KeyID, Secret: p.server.KeySecret}
	first := int64(0)
	event := client.NewEventID()
	for i, delta := range []int64{5, 5, 5, 5, 6} {
		r := &protocol.IncrementRequest{UserID: p.user, Delta: delta, EventID: event}
		signer.Fields(r, time.Now())
		out, err := p.post(ctx, p.token, r)
		if err != nil {
			return fmt.Errorf("probe a replay: %w", err)
		}
		switch {
		case i == 0 && out.status != http.StatusOK:
			return fmt.Errorf("the first signed increment was answered %d %s: check token and key", out.status, out.ErrorCode)
		case i == 0:
			first = out.NewScore
			p.expected[p.user] += delta
		case delta == 5:
			replays.of++
			if out.status == http.StatusOK && out.Replayed && out.NewScore == first && out.ID == event {
				replays.rejected++
			}
		default:
			conflicts.of++
			if out.status == http.StatusConflict {
				conflicts.rejected++
			}
		}
	}
	return nil
}

// maxBurst is how many updates in one go no limit for players allows.
const maxBurst = 200

// limits has one player update until it is told to wait.
func (p *prober) limits(ctx context.Context, player, token string) (enforced bool, err error) {
	signer := client.Signer{KeyID: p.server.KeyID, Secret: p.server.KeySecret}
	for range maxBurst {
		r := &protocol.IncrementRequest{UserID: player, Delta: 1, EventID: client.NewEventID()}
		signer.Fields(r, time.Now())
		out, err := p.post(ctx, token, r)
		switch {
		case err != nil:
			return false, fmt.Errorf("probe the limit of updates: %w", err)
		case out.status == http.StatusOK:
			p.expected[player]++
		case out.status == http.StatusTooManyRequests:
			return out.retryAfter != "", nil
		default:
			return false, nil
		}
	}
	return false, nil
}
