package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// rewardless is whether a user was banned, or on no board, at some time while the rewards of a period were granted,
// from $1 to $2: nobody knows when the user's turn came. $3 says that users who are on no board get rewards, too.
const rewardless = `(exists (select from user_statuses as x where x.user_id = u.user_id and x.status = 'banned'
        and x.at <= $2::timestamptz and not exists (select from user_statuses as y
            where y.user_id = x.user_id and y.id > x.id and y.at < $1::timestamptz))
    or not $3::boolean and exists (select from private_users as p where p.user_id = u.user_id
        and p.since <= $2::timestamptz and coalesce(p.until, 'infinity') >= $1::timestamptz))`

const (
	sqlEndedRun = `select r.started_at, r.ended_at, r.table_id, coalesce((select t.table_id from reward_tables as t
    where t.board_id = b.family_id and t.since <= b.period_end order by t.since desc limit 1), 0)
from reward_runs as r join boards as b using (board_id) where r.board_id = $1 and r.ended_at is not null`

	// Of ranks that get a reward, the users who have another one, or none although they should.
	sqlWrongGrants = `select s.user_id, coalesce(s.shared_rank, s.rank), g.band, coalesce(h.grant_id, 0),
    coalesce(h.rank, 0), coalesce(h.band, 0)
from board_standings as s
join unnest($6::bigint[], $7::bigint[]) with ordinality as w(first, last, n) on s.rank between w.first and w.last
` + sqlBandOfRow + ` join users as u on u.user_id = s.user_id
left join reward_grants as h on h.board_id = s.board_id and h.user_id = s.user_id
where s.board_id = $4 and s.rank between $5 and $9 and ($12 = '' or s.user_id = $12) and g.band > 0
    and case when h.grant_id is not null
        then h.table_id is not null and (h.rank, h.table_id, h.band) is distinct from
            (coalesce(s.shared_rank, s.rank), $10::bigint, g.band)
        else u.status <> 'erased' and not ` + rewardless + ` end
order by s.rank`

	// A page of the grants of a period by user, with the user's rank in the final standings, or for a user who is
	// not in them that which the user's score would have.
	sqlGrantsOf = `select g.user_id, g.grant_id, coalesce(g.rank, 0), coalesce(g.band, 0), coalesce(s.rank, 0),
    case when s.rank is null and g.table_id is not null and c.user_id is not null
        then rank_in_standings(g.board_id, $5, c.order_key, c.sub_key, case when $6 then 'epoch' else c.reached_at end,
            case when $6 then '' else g.user_id end) else 0 end,
    coalesce(c.score, 0), division
from (select s.*, case when $7 then ` + sqlDivision + ` else 0 end as division from reward_grants as s
    where s.board_id = $1 and s.user_id > $2 and ($4 = '' or s.user_id = $4)
    order by s.user_id limit $3) as g
left join board_standings as s on s.board_id = g.board_id and s.user_id = g.user_id
left join scores as c on c.board_id = g.board_id and c.user_id = g.user_id
order by g.user_id`

	// A page of the users who were on no board while the rewards were granted, and have none.
	sqlUngranted = `select u.user_id, rank_in_standings($4, $5, c.order_key, c.sub_key,
    case when $9 then 'epoch' else c.reached_at end, case when $9 then '' else u.user_id end), c.score,
    case when $10 then (select ` + sqlDivision + ` from (select p.user_id, $4 as board_id) as s) else 0 end
from (select distinct p.user_id from private_users as p where p.user_id > $6 and ($8 = '' or p.user_id = $8)
    and p.since <= $1::timestamptz and coalesce(p.until, 'infinity') >= $2::timestamptz
    order by p.user_id limit $7) as p
join users as u using (user_id) join scores as c on c.user_id = p.user_id and c.board_id = $4
where u.status <> 'erased' and c.version > 0 and not c.empty and not ` + rewardless + `
    and not exists (select from reward_grants as g where g.board_id = $4 and g.user_id = p.user_id)
    and not exists (select from board_standings as s where s.board_id = $4 and s.user_id = p.user_id)
order by u.user_id`

	sqlLastPrivate = `select max(user_id) from (select distinct p.user_id from private_users as p
    where p.user_id > $3 and p.since <= $1 and coalesce(p.until, 'infinity') >= $2 order by p.user_id limit $4) as p`
)

// rewardCheck is a comparison of the grants of a period with its final standings and its table.
type rewardCheck struct {
	s            *Rewards
	run          *rewardRun
	started, end time.Time // of the run
	user         scoreboard.UserID
	size         int
	do           func([]scoreboard.RewardDifference) error
	compared     int64 // grants
}

// CheckRewards calls do with what differs between the grants of a period and what its final standings and the table in
// force at its end say, some users at a time, of one user unless that is "". Grants of operators are left out. It
// returns how many grants it has compared: none while they are made.
func (s *Rewards) CheckRewards(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, size int,
	do func([]scoreboard.RewardDifference) error,
) (compared int64, err error) {
	c := &rewardCheck{s: s, user: user, size: size, do: do}
	var used, inForce int64
	err = s.db.QueryRow(ctx, sqlEndedRun, board.ID).Scan(&c.started, &c.end, &used, &inForce)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err == nil && used != inForce {
		err = do([]scoreboard.RewardDifference{{Kind: scoreboard.RewardTableDiffers, Got: used, Want: inForce}})
	}
	if err == nil {
		err = c.all(ctx, board.ID)
	}
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("compare the rewards of board %s: %w", board.ID, err))
	}
	return c.compared, nil
}

func (c *rewardCheck) all(ctx context.Context, board scoreboard.BoardID) (err error) {
	if c.run, err = c.s.loadRun(ctx, board); err != nil {
		return err
	}
	for rank := int64(1); ; {
		chunk := c.run.from(rank, int64(c.size))
		if len(chunk) == 0 {
			break
		}
		if err := c.ranks(ctx, chunk); err != nil {
			return err
		}
		rank = chunk[len(chunk)-1].Last + 1
	}
	for after, more := scoreboard.UserID(""), true; more; {
		if after, more, err = c.grants(ctx, after); err != nil {
			return err
		}
	}
	for after, more := scoreboard.UserID(""), c.run.table.Private; more; {
		if after, more, err = c.private(ctx, after); err != nil {
			return err
		}
	}
	return nil
}

// ranks compares the grants of ranks that get a reward.
func (c *rewardCheck) ranks(ctx context.Context, chunk []scoreboard.RewardSegment) error {
	firsts, lasts, bands := columnsOf(chunk)
	rows, err := c.s.db.Query(ctx, sqlWrongGrants, c.started, c.end, c.run.table.Private, c.run.board.ID,
		chunk[0].First, firsts, lasts, bands, chunk[len(chunk)-1].Last, c.run.table.ID, divisionsOf(chunk), c.user)
	if err != nil {
		return err
	}
	var found []scoreboard.RewardDifference
	var d scoreboard.RewardDifference
	_, err = pgx.ForEachRow(rows, []any{&d.User, &d.Rank, &d.Want, &d.Grant, &d.GotRank, &d.Got}, func() error {
		d.Kind = scoreboard.RewardWrong
		if d.Grant == 0 {
			d.Kind = scoreboard.RewardMissing
		}
		found = append(found, d)
		return nil
	})
	if err != nil {
		return err
	}
	return c.report(found)
}

// grants looks for grants of users who should have none, a page by user.
func (c *rewardCheck) grants(
	ctx context.Context, after scoreboard.UserID,
) (last scoreboard.UserID, more bool, err error) {
	rows, err := c.s.db.Query(ctx, sqlGrantsOf, c.run.board.ID, after, c.size, c.user, c.run.total,
		c.run.board.SharesRanks(), c.run.table.HasDivisions())
	if err != nil {
		return "", false, err
	}
	var found []scoreboard.RewardDifference
	var d scoreboard.RewardDifference
	var sealed, would int64
	var score scoreboard.Score
	division, read := 0, 0
	columns := []any{&d.User, &d.Grant, &d.GotRank, &d.Got, &sealed, &would, &score, &division}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		read++
		last = d.User
		if d.Got == 0 {
			return nil // an operator's
		}
		c.compared++
		d.Rank, d.Want = sealed, c.run.bandAt(sealed, division)
		d.Kind = scoreboard.RewardExtra
		switch {
		case sealed == 0 && c.run.table.Private:
			d.Rank, d.Want = would, c.run.bandOf(would, score, division)
			if d.Want != 0 {
				d.Kind = scoreboard.RewardWrong
			}
			if d.Want != d.Got || d.Rank != d.GotRank {
				found = append(found, d)
			}
		case d.Want == 0:
			found = append(found, d)
		}
		return nil
	})
	if err == nil {
		err = c.report(found)
	}
	return last, read == c.size, err
}

// private looks for users on no board who should have a grant, a page by user.
func (c *rewardCheck) private(
	ctx context.Context, after scoreboard.UserID,
) (last scoreboard.UserID, more bool, err error) {
	rows, err := c.s.db.Query(ctx, sqlUngranted, c.started, c.end, true, c.run.board.ID, c.run.total, after, c.size,
		c.user, c.run.board.SharesRanks(), c.run.table.HasDivisions())
	if err != nil {
		return "", false, err
	}
	var found []scoreboard.RewardDifference
	d := scoreboard.RewardDifference{Kind: scoreboard.RewardMissing}
	var score scoreboard.Score
	var division int
	_, err = pgx.ForEachRow(rows, []any{&d.User, &d.Rank, &score, &division}, func() error {
		if d.Want = c.run.bandOf(d.Rank, score, division); d.Want != 0 {
			found = append(found, d)
		}
		return nil
	})
	if err == nil {
		err = c.report(found)
	}
	if err != nil || c.user != "" {
		return "", false, err
	}
	var next *scoreboard.UserID
	err = c.s.db.QueryRow(ctx, sqlLastPrivate, c.started, c.end, after, c.size).Scan(&next)
	if err != nil || next == nil {
		return "", false, err
	}
	return *next, true, nil
}

func (c *rewardCheck) report(found []scoreboard.RewardDifference) error {
	if len(found) == 0 {
		return nil
	}
	return c.do(found)
}

// bandAt returns the number of the band of a rank in the final standings, from 1; 0 for none.
func (r *rewardRun) bandAt(rank int64, division int) int64 {
	for _, g := range r.segments {
		if g.First <= rank && rank <= g.Last {
			return int64(g.Bands[division]) + 1
		}
	}
	return 0
}

// bandOf is bandAt for a user who is not in the final standings.
func (r *rewardRun) bandOf(rank int64, score scoreboard.Score, division int) int64 {
	b := r.board
	tier := b.Tiers.Name(b.Tiers.Of(b.Order, rank, r.total, score))
	return int64(r.table.BandOf(rank, r.total, tier, division)) + 1
}
