package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Nakama reads the boards of Nakama from its database: the tables leaderboard and
// leaderboard_record. Of a board that resets, it reads the current period.
type Nakama struct{ conn *pgx.Conn }

const (
	// nakamaTimeout bounds one statement, on the server and here, also while rows arrive.
	nakamaTimeout = 10 * time.Minute
	// maxNakamaMessage bounds a row or a notice.
	maxNakamaMessage = 1 << 20
)

// OpenNakama connects to the database.
func OpenNakama(ctx context.Context, url string) (*Nakama, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil { // it quotes the URL, and cannot always tell its password
		return nil, errors.New("the PostgreSQL URL is invalid: want postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	c.ConnectTimeout = connectTimeout
	c.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxNakamaMessage)
		return f
	}
	c.RuntimeParams["statement_timeout"] = fmt.Sprint(nakamaTimeout.Milliseconds())
	c.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to Nakama's database: %w", err)
	}
	return &Nakama{conn}, nil
}

// Close closes the connection.
func (n *Nakama) Close() error { return n.conn.Close(context.Background()) }

// currentPeriod are the records of the current period; those of boards that never reset
// have the expiry time 1970.
const currentPeriod = `(r.expiry_time > now() or r.expiry_time <= '1970-01-01')`

const sqlNakamaBoards = `select l.id, l.sort_order, l.operator, coalesce(l.reset_schedule, ''), l.duration,
    count(r.*) filter (where ` + currentPeriod + `), count(r.*) filter (where not ` + currentPeriod + `),
    count(r.*) filter (where ` + currentPeriod + ` and r.subscore <> 0),
    count(r.*) filter (where ` + currentPeriod + ` and r.metadata::text <> '{}')
from leaderboard l left join leaderboard_record r on r.leaderboard_id = l.id
where $1::text[] is null or l.id = any($1) group by l.id order by l.id limit 100000`

// nakamaPeriods maps the reset schedules that have a counterpart.
var nakamaPeriods = map[string]scoreboard.Period{
	"":          scoreboard.PeriodNone,
	"0 0 * * *": scoreboard.PeriodDaily, "@daily": scoreboard.PeriodDaily, "@midnight": scoreboard.PeriodDaily,
	"0 0 * * 1": scoreboard.PeriodWeekly,
	"0 0 1 * *": scoreboard.PeriodMonthly, "@monthly": scoreboard.PeriodMonthly,
}

// Boards lists the boards; with names only those.
func (n *Nakama) Boards(ctx context.Context, names []string) ([]Board, error) {
	ctx, cancel := context.WithTimeout(ctx, nakamaTimeout)
	defer cancel()
	rows, err := n.conn.Query(ctx, sqlNakamaBoards, names)
	if err != nil {
		return nil, fmt.Errorf("list the boards of Nakama: %w", err)
	}
	read := 0
	boards, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Board, err error) {
		if read++; read > maxBoards {
			return b, fmt.Errorf("there are more than %d", maxBoards)
		}
		var order, operator, duration int
		var schedule string
		var past int64
		err = row.Scan(&b.ID, &order, &operator, &schedule, &duration, &b.Records, &past, &b.Subscores, &b.Described)
		b.describe(order, operator, duration, schedule)
		if past > 0 {
			b.Lost = append(b.Lost, fmt.Sprintf("%d records of past periods", past))
		}
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the boards of Nakama: %w", err)
	}
	for _, name := range names {
		found := false
		for i := range boards {
			found = found || boards[i].ID == name
		}
		if !found {
			return nil, fmt.Errorf("board %s of Nakama not found", name)
		}
	}
	return boards, nil
}

// describe maps what Nakama stores about a board.
func (b *Board) describe(order, operator, duration int, schedule string) {
	b.Order = scoreboard.OrderHighest
	if order == 0 {
		b.Order = scoreboard.OrderLowest
	}
	period, known := nakamaPeriods[schedule]
	if b.Period = period; !known {
		b.schedule(schedule)
	}
	switch operator {
	case 0:
		b.Mode = scoreboard.ModeBest
	case 1:
		b.Mode = scoreboard.ModeLatest
	case 2:
		b.Mode = scoreboard.ModeIncrement
	default:
		b.Mode = scoreboard.ModeIncrement
		b.Unsupported = "no mode is like the operator decrement"
	}
	if duration > 0 {
		b.Lost = append(b.Lost, "the rules of the tournament")
	}
}

// schedule sets the period of a reset schedule, if it means the same here.
func (b *Board) schedule(text string) {
	clean := scoreboard.CleanSchedule(text)
	s, err := scoreboard.ParseSchedule(clean)
	if err == nil {
		err = s.Check()
	}
	// Nakama takes a step of all days as a restriction.
	if f := strings.Fields(clean); err != nil || strings.HasPrefix(f[2], "*/") || strings.HasPrefix(f[4], "*/") {
		b.Unsupported = fmt.Sprintf("no period is like the reset schedule %q", text)
		return
	}
	b.Period, b.Schedule = scoreboard.PeriodCron, clean
}

// Constants, because a direction is no parameter.
const (
	sqlNakamaRecords = `select r.owner_id::text, r.score, r.subscore,
    case when $3 and r.metadata::text <> '{}' then r.metadata::text else '' end from leaderboard_record r
where r.leaderboard_id = $1 and ` + currentPeriod + ` order by `
	sqlNakamaHighest = sqlNakamaRecords + `r.score desc, r.subscore desc, r.owner_id desc limit $2`
	sqlNakamaLowest  = sqlNakamaRecords + `r.score, r.subscore, r.owner_id limit $2`
)

// Records reads the current period of a board, best first, from one snapshot.
func (n *Nakama) Records(ctx context.Context, b *Board) ([]scoreboard.ImportRecord, error) {
	sql := sqlNakamaHighest
	if b.Order == scoreboard.OrderLowest {
		sql = sqlNakamaLowest
	}
	ctx, cancel := context.WithTimeout(ctx, nakamaTimeout)
	defer cancel()
	b.Unfit = 0
	rows, err := n.conn.Query(ctx, sql, b.ID, MaxRecords+1, b.Metadata)
	if err != nil {
		return nil, fmt.Errorf("read board %s: %w", b.ID, err)
	}
	records := make([]scoreboard.ImportRecord, 0, b.room())
	var owner, metadata string
	var score, subscore int64
	_, err = pgx.ForEachRow(rows, []any{&owner, &score, &subscore, &metadata}, func() error {
		if len(records) == MaxRecords {
			return errTooMany
		}
		r, err := checked(owner, score, subscore)
		if fits(metadata) {
			r.Metadata = scoreboard.Metadata(metadata)
		} else {
			b.Unfit++
		}
		records = append(records, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read board %s: %w", b.ID, err)
	}
	return records, nil
}

// fits reports whether the server takes metadata, which is valid JSON.
func fits(metadata string) bool {
	return metadata == "" || metadata[0] == '{' && len(metadata) <= scoreboard.MaxMetadata &&
		scoreboard.CheckMetadata([]byte(metadata)) == nil
}
