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
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

// prober sends requests that the server must reject, one by one, before the load.
type prober struct {
	http   *http.Client
	server Server
	user   string // of the probes
	token  string

	expected map[string]int64 // scores that the probes must have caused, by user
	rejected []string         // event ids that must not be in the ledger
}

const (
	// maxLimited bounds how long a probe waits while its address is rate limited.
	maxLimited = 70 * time.Second
	// maxBurst is more updates at once than any limit for players allows.
	maxBurst = 200
)

// reply is the response to a probe.
type reply struct {
	status     int
	retryAfter string
	NewScore   int64  `json:"new_score"`
	Replayed   bool   `json:"replayed"`
	ID         string `json:"processed_event_id"`
	ErrorCode  string `json:"error_code"`
}

// post sends an increment. It retries while the address is rate limited, which
// rejected credentials of an earlier run may have caused.
func (p *prober) post(ctx context.Context, token string, r *wire.IncrementRequest) (reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	for waited := time.Duration(0); ; {
		out, err := p.once(ctx, token, body)
		after, _ := strconv.Atoi(out.retryAfter)
		wait := time.Duration(max(after, 1)) * time.Second
		if err != nil || out.status != http.StatusTooManyRequests || token != p.token || waited+wait > maxLimited {
			return out, err
		}
		waited += wait
		if !retry.Sleep(ctx, wait) {
			return out, ctx.Err()
		}
	}
}

func (p *prober) once(ctx context.Context, token string, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := strings.TrimSuffix(p.server.URL, "/") + "/v1/scores/increment"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
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
	_ = json.Unmarshal(b, &out) // an invalid response fails its probe
	return out, nil
}

// signatures sends increments with invalid signatures. Each must get a 401.
func (p *prober) signatures(ctx context.Context, t *verify.Tally) error {
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
		r := &wire.IncrementRequest{UserID: p.user, Delta: 7, EventID: client.NewEventID()}
		c.signer.Fields(r, c.at)
		out, err := p.post(ctx, p.token, r)
		if err != nil {
			return fmt.Errorf("probe signatures: %w", err)
		}
		t.Total++
		if out.status == http.StatusUnauthorized {
			t.Rejected++
		}
		if out.status == http.StatusOK {
			p.expected[p.user] += 7
		} else {
			p.rejected = append(p.rejected, r.EventID)
		}
	}
	return nil
}

// replays sends an increment several times, and then its event id with another
// delta.
func (p *prober) replays(ctx context.Context, replays, conflicts *verify.Tally) error {
	signer := client.Signer{KeyID: p.server.KeyID, Secret: p.server.KeySecret}
	first := int64(0)
	event := client.NewEventID()
	for i, delta := range []int64{5, 5, 5, 5, 6} {
		r := &wire.IncrementRequest{UserID: p.user, Delta: delta, EventID: event}
		signer.Fields(r, time.Now())
		out, err := p.post(ctx, p.token, r)
		if err != nil {
			return fmt.Errorf("probe replays: %w", err)
		}
		switch {
		case i == 0 && out.status != http.StatusOK:
			return fmt.Errorf(
				"the first signed increment was rejected with %d %s: check token and key", out.status,
				out.ErrorCode,
			)
		case i == 0:
			first = out.NewScore
			p.expected[p.user] += delta
		case delta == 5:
			replays.Total++
			if out.status == http.StatusOK && out.Replayed && out.NewScore == first && out.ID == event {
				replays.Rejected++
			}
		default:
			conflicts.Total++
			if out.status == http.StatusConflict {
				conflicts.Rejected++
			}
		}
	}
	return nil
}

// limits sends updates of one player until they are rate limited. The response
// must say when to retry.
func (p *prober) limits(ctx context.Context, player, token string) (enforced bool, err error) {
	signer := client.Signer{KeyID: p.server.KeyID, Secret: p.server.KeySecret}
	for range maxBurst {
		r := &wire.IncrementRequest{UserID: player, Delta: 1, EventID: client.NewEventID()}
		signer.Fields(r, time.Now())
		out, err := p.post(ctx, token, r)
		switch {
		case err != nil:
			return false, fmt.Errorf("probe the update limit: %w", err)
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
