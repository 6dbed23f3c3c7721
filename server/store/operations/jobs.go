package operations

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Limits.
const (
	// lostAfter is the time after which a running job that its node did not report is lost.
	lostAfter = 30 * time.Second
	// keep is how long ended jobs are kept.
	keepJobs = 30 * 24 * time.Hour
)

// Jobs is the jobs table.
type Jobs struct{ db *pg.DB }

// NewJobs returns a Jobs over db.
func NewJobs(db *pg.DB) *Jobs { return &Jobs{db} }

// Start stores a job that begins, sets its id and time, and deletes old ones.
func (j *Jobs) Start(ctx context.Context, job *scoreboard.Job) error {
	const insert = `with made as (
    insert into jobs (kind, target, dry_run, node, who, reason) values ($1, $2, $3, $4, $5, $6)
    returning job_id, started_at
), old as (
    delete from jobs where ended_at < clock_timestamp() - $7::interval or job_id <= (
        select job_id from jobs order by job_id desc offset $8 limit 1)
)
select job_id, started_at from made`
	err := j.db.QueryRow(ctx, insert, job.Kind, job.Target, job.DryRun, job.Node, job.Who, job.Reason, keepJobs,
		scoreboard.MaxJobs-1).Scan(&job.ID, &job.Started)
	if err != nil {
		return pg.Translate(fmt.Errorf("store a job: %w", err))
	}
	job.Started, job.State = job.Started.UTC(), scoreboard.JobRunning
	return nil
}

// Report stores the last line of a running job, and returns whether an operator has asked to
// stop it.
func (j *Jobs) Report(ctx context.Context, id int64, line []byte) (stop bool, err error) {
	err = j.db.QueryRow(ctx, `update jobs set seen_at = clock_timestamp(),
    line = case when state = 'running' then $2 else line end
where job_id = $1 returning stop`, id, textOrNull(line)).Scan(&stop)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // without a row, it was deleted
		return false, pg.Translate(fmt.Errorf("report job %d: %w", id, err))
	}
	return stop, nil
}

// End stores how a job has ended, without the line if it names a user who was erased meanwhile. It locks the
// users whom the line names, so that an erasure deletes what it stores, or comes first.
func (j *Jobs) End(ctx context.Context, id int64, state string, line []byte) error {
	users := usersIn(line)
	err := j.db.InLimitedTx(ctx, func(tx pgx.Tx) error {
		kept := textOrNull(line)
		if len(users) > 0 {
			var erased bool
			err := tx.QueryRow(ctx, `select coalesce(bool_or(status = 'erased'), false) from (
    select status from users where user_id = any($1) order by user_id for share) as u`, users).Scan(&erased)
			if err != nil {
				return err
			}
			if erased {
				kept = nil
			}
		}
		_, err := tx.Exec(ctx, `update jobs set state = $2, line = $3, ended_at = clock_timestamp() where job_id = $1`,
			id, state, kept)
		return err
	})
	if err != nil {
		return pg.Translate(fmt.Errorf("store the end of job %d: %w", id, err))
	}
	return nil
}

// named finds users in a line: JSON escapes no character of their ids.
var named = regexp.MustCompile(`"user_id":"([^"\\]+)"`)

// usersIn returns the users whom a line names, each once.
func usersIn(line []byte) []string {
	var users []string
	for _, found := range named.FindAllSubmatch(line, -1) {
		users = append(users, string(found[1]))
	}
	slices.Sort(users)
	return slices.Compact(users)
}

func textOrNull(line []byte) *string {
	if line == nil {
		return nil
	}
	text := string(line)
	return &text
}

const jobColumns = `job_id, kind, target, dry_run, node, who, reason, started_at, coalesce(ended_at, 'epoch'), line,
    case when state = 'running' and seen_at < clock_timestamp() - $1::interval then 'lost' else state end`

func scanJob(row pgx.CollectableRow) (job scoreboard.Job, err error) {
	err = row.Scan(&job.ID, &job.Kind, &job.Target, &job.DryRun, &job.Node, &job.Who, &job.Reason, &job.Started,
		&job.Ended, &job.Line, &job.State)
	job.Started, job.Ended = job.Started.UTC(), job.Ended.UTC()
	if job.Ended.Unix() == 0 {
		job.Ended = time.Time{}
	}
	return job, err
}

// List lists at most limit jobs before an id (0: from the newest), newest first.
func (j *Jobs) List(ctx context.Context, before int64, limit int) ([]scoreboard.Job, error) {
	rows, err := j.db.Query(ctx, `select `+jobColumns+` from jobs where ($2::bigint = 0 or job_id < $2)
order by job_id desc limit $3`, lostAfter, before, limit)
	var all []scoreboard.Job
	if err == nil {
		all, err = pgx.CollectRows(rows, scanJob)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the jobs: %w", err))
	}
	return all, nil
}

// Find returns a job, or a not_found.
func (j *Jobs) Find(ctx context.Context, id int64) (scoreboard.Job, error) {
	return j.find(ctx, j.db, id)
}

func (j *Jobs) find(ctx context.Context, from pg.Querier, id int64) (job scoreboard.Job, err error) {
	rows, err := from.Query(ctx, `select `+jobColumns+` from jobs where job_id = $2`, lostAfter, id)
	if err == nil {
		job, err = pgx.CollectExactlyOneRow(rows, scanJob)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return job, scoreboard.Errorf(wire.CodeNotFound, "job %d not found", id)
	}
	if err != nil {
		return job, pg.Translate(fmt.Errorf("read job %d: %w", id, err))
	}
	return job, nil
}

// Stop asks the node of a running job to stop it, with the entry. A job that does not run
// is a conflict. One that is lost ends here; if its node comes back, its next report is told
// to stop.
func (j *Jobs) Stop(ctx context.Context, id int64, why *scoreboard.AuditEntry) (job scoreboard.Job, err error) {
	err = pgx.BeginFunc(ctx, j.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select from jobs where job_id = $1 for update`, id); err != nil {
			return err
		}
		if job, err = j.find(ctx, tx, id); err != nil {
			return err
		}
		switch job.State {
		case scoreboard.JobRunning:
			_, err = tx.Exec(ctx, `update jobs set stop = true where job_id = $1`, id)
		case scoreboard.JobLost:
			_, err = tx.Exec(ctx, `update jobs set state = 'stopped', stop = true, ended_at = clock_timestamp()
where job_id = $1`, id)
		default:
			return scoreboard.Errorf(wire.CodeConflict, "job %d has ended already", id)
		}
		if err != nil {
			return err
		}
		why.Target = fmt.Sprintf("job:%d", id)
		if err := pg.WriteAudit(ctx, tx, why); err != nil {
			return err
		}
		job, err = j.find(ctx, tx, id)
		return err
	})
	if err != nil {
		return job, pg.Translate(fmt.Errorf("stop job %d: %w", id, err))
	}
	return job, nil
}
