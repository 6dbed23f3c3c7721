package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// calendarCodec reads a timestamptz as a scoreboard.WritableTime: PostgreSQL holds times
// before the year 1 and after 9999, which earlier versions accepted, and one such row
// must not break every list that contains it.
type calendarCodec struct{ *pgtype.TimestamptzCodec }

// registerCalendar makes a new connection read times by calendarCodec.
func registerCalendar(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: calendarCodec{&pgtype.TimestamptzCodec{}},
	})
	return nil
}

// PlanScan implements pgtype.Codec.
func (c calendarCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if plan := c.TimestamptzCodec.PlanScan(m, oid, format, target); plan != nil {
		return calendarPlan{plan}
	}
	return nil
}

type calendarPlan struct{ pgtype.ScanPlan }

// Scan implements pgtype.ScanPlan.
func (p calendarPlan) Scan(src []byte, target any) error {
	var t pgtype.Timestamptz
	if err := p.ScanPlan.Scan(src, &t); err != nil {
		return err
	}
	if t.Valid && t.InfinityModifier == pgtype.Finite && !scoreboard.IsWritable(t.Time) {
		t.Time = scoreboard.WritableTime(t.Time)
	}
	return target.(pgtype.TimestamptzScanner).ScanTimestamptz(t)
}
