package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// Store is the webhooks, their outbox and their deliveries.
type Store interface {
	List(ctx context.Context) ([]scoreboard.Webhook, error)
	Secrets(ctx context.Context, id string) ([][]byte, error)
	Disable(ctx context.Context, id, reason string, why *scoreboard.AuditEntry) error

	Messages(
		ctx context.Context, types []scoreboard.WebhookType, limit int,
	) ([]scoreboard.WebhookMessage, error)
	// Deliver moves a message to the deliveries, unless one of the users whom the payload names was erased since.
	Deliver(
		ctx context.Context, m *scoreboard.WebhookMessage, id, payload string, users []scoreboard.UserID,
		webhooks []string,
	) error
	Top(ctx context.Context, webhook string, board scoreboard.BoardID) (*scoreboard.WebhookTop, error)
	SaveTop(
		ctx context.Context, webhook string, board scoreboard.BoardID, before *scoreboard.WebhookTop,
		users []scoreboard.UserID, messages []scoreboard.WebhookUserMessage,
	) (saved bool, err error)

	// TierMoves returns how users' own events have moved them on boards since the last SaveTierMoves.
	TierMoves(ctx context.Context, boards []scoreboard.BoardID) (scoreboard.TierMoves, error)
	SaveTierMoves(ctx context.Context, m *scoreboard.TierMoves, messages []scoreboard.WebhookUserMessage) error

	// LeagueMoves returns moves of players of leagues since the last SaveLeagueMoves, by period.
	LeagueMoves(ctx context.Context, runs, limit int) ([]scoreboard.LeagueMoves, error)
	SaveLeagueMoves(
		ctx context.Context, m *scoreboard.LeagueMoves, id, payload string, webhooks []string,
	) error
	// RewardHorizon finds up to which id all grants are committed; QueueRewards queues the messages about the next
	// ones for a webhook.
	RewardHorizon(ctx context.Context, h *scoreboard.RewardHorizon) error
	QueueRewards(
		ctx context.Context, w *scoreboard.Webhook, safe int64, encode func(*scoreboard.RewardGrant) (string, error),
	) (more bool, err error)

	Claim(ctx context.Context, webhook string, claim time.Duration) (*scoreboard.WebhookDelivery, error)
	Finish(ctx context.Context, d *scoreboard.WebhookDelivery, wait time.Duration) error
	Backlogs(ctx context.Context, limit int) (map[string]scoreboard.WebhookBacklog, error)
	DeleteOld(ctx context.Context, delivered, failed time.Duration, limit int) error
}

// Boards looks boards up.
type Boards interface {
	Board(ctx context.Context, id scoreboard.BoardID) (*scoreboard.Board, error)
	All(ctx context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
}

// Seasons reads final standings.
type Seasons interface {
	FinalStandings(
		ctx context.Context, id scoreboard.BoardID, after int64, limit int,
	) (scoreboard.EndedPeriod, []scoreboard.FinalStanding, error)
}

// Flags reads flags; a not_found for one that was erased.
type Flags interface {
	Flag(ctx context.Context, id int64) (*scoreboard.Flag, error)
}

// Ranking reads standings.
type Ranking interface {
	Top(ctx context.Context, board *scoreboard.Board) (*scoreboard.Top, error)
	Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (*scoreboard.Place, error)
	// Around returns up to before standings at or ahead of a position, and up to behind behind it.
	Around(
		ctx context.Context, board *scoreboard.Board, at *scoreboard.Position, before, behind int,
	) (*scoreboard.Top, error)
}

// Options are the parts of a Worker.
type Options struct {
	Runner   *upkeep.Runner
	Store    Store
	Boards   Boards
	Seasons  Seasons
	Flags    Flags
	Ranking  Ranking
	Hide     func(board scoreboard.BoardID, rows []scoreboard.Entry)      // shows hidden users under pseudonyms
	Decrypt  func(id string, encrypted []byte) (secret string, err error) // decrypts a secret
	Networks publicnet.Networks                                           // of the receivers
	Version  string                                                       // of this build
	Log      *slog.Logger
}

const (
	interval        = time.Second
	leaseName       = "webhooks"
	leaseTTL        = 30 * time.Second
	attemptTimeout  = 15 * time.Second
	claimTTL        = 4 * attemptTimeout // an attempt ends before
	messagesPerRun  = 100
	backlogInterval = 10 * time.Second
	cleanInterval   = time.Minute
	deletedPerClean = 10_000

	// KeepDelivered and KeepFailed are how long deliveries are kept.
	KeepDelivered = 7 * 24 * time.Hour
	KeepFailed    = 30 * 24 * time.Hour
)

// Worker queues and sends messages.
type Worker struct {
	Options
	job     *upkeep.Job
	client  *http.Client
	tops    map[topKey]topVersion // compared before, while this process holds the lease
	counted time.Time             // of the backlogs
	behind  time.Time             // since when a ranking lacks moves between tiers; zero: none does
	cleaned time.Time
	rewards scoreboard.RewardHorizon

	sending sync.WaitGroup
	mu      sync.Mutex
	senders map[string]*sender // by webhook

	attempts          *prometheus.CounterVec
	errors            prometheus.Counter
	pending, oldest   *metric.Expiring
	disabled          *metric.Expiring
	delivered, failed prometheus.Counter // of attempts
	retried           prometheus.Counter
}

// New returns a Worker; Run starts it.
func New(o Options) *Worker {
	w := &Worker{
		Options: o,
		client:  o.Networks.Client(attemptTimeout), senders: make(map[string]*sender),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_webhook_attempts_total",
			Help: "Attempts to deliver a message to a webhook, by result: delivered, retried (another attempt " +
				"follows) or failed (none follows).",
		}, []string{"result"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_webhook_errors_total",
			Help: "Failed runs of the worker that queues messages for webhooks; the next one continues.",
		}),
		pending: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_webhook_pending",
			Help: "Deliveries to enabled webhooks that wait for their next attempt.",
		}),
		oldest: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_webhook_oldest_seconds",
			Help: "Age of the oldest pending delivery to an enabled webhook.",
		}),
		disabled: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_webhook_disabled",
			Help: "Webhooks that are disabled.",
		}),
	}
	w.delivered = w.attempts.WithLabelValues("delivered")
	w.retried, w.failed = w.attempts.WithLabelValues("retried"), w.attempts.WithLabelValues("failed")
	w.job = o.Runner.NewJob(upkeep.JobOptions{
		Name: leaseName, TTL: leaseTTL, Interval: interval, Idle: w.idle,
		Failure: "webhooks failed", Level: slog.LevelWarn, Failures: w.errors,
	})
	return w
}

// Collectors returns the metrics to register.
func (w *Worker) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.attempts, w.errors, w.pending, w.oldest, w.disabled}
}

// Run works until ctx ends, while it holds the lease, and then ends the requests.
func (w *Worker) Run(ctx context.Context) error {
	defer w.sending.Wait()
	return w.job.Run(ctx, func(run context.Context) error { return w.work(run, ctx) })
}

// idle reports nothing: the holder of the lease does.
func (w *Worker) idle(context.Context) error {
	w.tops = nil
	w.report(0, 0, 0)
	return nil
}

// work does what is due. sending is the context of requests, which may go on after a run.
func (w *Worker) work(ctx, sending context.Context) error {
	hooks, err := w.Store.List(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(w.queueMessages(ctx, hooks), w.compareTops(ctx, hooks), w.compareTiers(ctx, hooks),
		w.queueMoves(ctx, hooks), w.queueRewards(ctx, hooks), w.watchBacklogs(ctx, hooks))
	for i := range hooks {
		if hooks[i].Disabled.IsZero() {
			w.startSender(sending, &hooks[i])
		}
	}
	if time.Since(w.cleaned) >= cleanInterval {
		w.cleaned = time.Now()
		err = errors.Join(err, w.Store.DeleteOld(ctx, KeepDelivered, KeepFailed, deletedPerClean))
	}
	return err
}

func (w *Worker) report(pending int, oldest time.Duration, disabled int) {
	w.pending.Set(float64(pending))
	w.oldest.Set(oldest.Seconds())
	w.disabled.Set(float64(disabled))
}

// watchBacklogs measures what is pending, and disables webhooks with too many deliveries:
// their receivers do not come back, and every message would cost another row.
func (w *Worker) watchBacklogs(ctx context.Context, hooks []scoreboard.Webhook) error {
	if time.Since(w.counted) < backlogInterval {
		return nil
	}
	backlogs, err := w.Store.Backlogs(ctx, scoreboard.MaxWebhookPending)
	if err != nil {
		return err
	}
	w.counted = time.Now()
	var pending, disabled int
	var oldest time.Duration
	for i := range hooks {
		h, b := &hooks[i], backlogs[hooks[i].ID]
		if !h.Disabled.IsZero() {
			disabled++
			continue
		}
		pending += b.Pending
		oldest = max(oldest, b.Oldest)
		if b.Pending < scoreboard.MaxWebhookPending {
			continue
		}
		w.Log.Warn("webhook disabled: too many pending deliveries", "webhook", h.ID, "pending", b.Pending)
		if err := w.Store.Disable(ctx, h.ID, "too many pending deliveries", nil); err != nil {
			return err
		}
	}
	w.report(pending, oldest, disabled)
	return nil
}
