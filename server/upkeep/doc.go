// Package upkeep is the work that runs beside requests, each in one process at a time under a
// lease or a claim. A Runner runs it; larger work is in the packages below.
//
// # Rollover
//
// Rollover ends the periods of boards and begins the next ones.
//
// Promise: the instance of a period exists, ranked, before the period begins.
// When a period has ended, its board is closed, its final standings are copied
// and sealed with a hash, and the end is announced at least once, always with
// the same event id. Each step is a transaction that the next run detects, so an
// interruption at any point is harmless.
//
// Assumption: writers pick the instance by the database's clock; this package
// does not decide where an increment counts. Closing waits for the grace period
// in which increments accepted earlier are still recorded.
//
// Owner: Rollover.Run. One process works at a time, under a lease; two would only
// repeat the same steps. An operator's roll runs the same code.
//
// On failure: the next run continues.
//
// # Rewards
//
// Rewards grants what the winners of a period get by the table of the board.
//
// Promise: when the standings of a period are sealed, each winner gets one grant, by the table that was
// in force at the end of the period. Each chunk of ranks is a transaction that moves the rank to
// continue from, so an interruption at any point neither misses nor repeats a grant.
//
// Assumption: sealed standings change only their users, by erasures, which the store keeps apart from a
// chunk. Two processes at once take turns.
//
// Owner: Rewards.Run, in one process at a time under a lease.
//
// On failure: the next run continues. A period that fails delays no other.
//
// # Leagues
//
// Leagues moves players between divisions when a period of a league has ended.
//
// Promise: when the standings of a period are sealed, each player who ended in the first or last ranks of
// a cohort moves, once. Each chunk of cohorts is a transaction that stores the outcomes, moves the
// players, and moves the cohort to continue from. Players of the next period who came before that are
// placed when their division is known.
//
// Assumption: as Rewards. Cohorts of a period that is closed do not change but for erasures.
//
// Owner: Leagues.Run, in one process at a time under a lease.
//
// On failure: the next run continues. A league that fails delays no other; players of its next period
// wait for a cohort, their submissions count.
//
// # Standings
//
// Standings updates the table standings from the outbox, in one process at a
// time, about once a second: changes of one score in that second cost one update.
//
// Promise: while one process with the role maintenance runs, reads without Redis are
// about two seconds behind the commit, and say so.
//
// Assumption: the store moves cursors with what they stand for, so that a process that
// dies or loses its lease while it works leaves standings behind, not wrong.
//
// On failure: the next run continues. The age of the standings is a metric of every
// process with the role, so that it is also seen if no process updates them.
//
// # Checkpoints
//
// Checkpoints makes checkpoints of standings, by which the board at a moment is read
// fast, and samples ranks once an hour, in one process at a time.
//
// Promise: while one process with the role maintenance runs, at most Events events lie
// between a checkpoint of a board and the next one, plus those of a pass.
//
// Assumption: the store never reads a checkpoint that is not complete.
//
// On failure: reads take longer, and the next run makes the checkpoint. Samples of an hour in
// which no process ran are missing. Two processes at once, after a lease was lost, delete
// each other's unfinished checkpoints, and make them again.
//
// # Teams
//
// Teams keeps the scores of teams what their members have, in one process at a time,
// up to five times a second: a hundred changes of a team's members in that time are one
// change of its score.
//
// Promise: while one process with the role maintenance runs, scores of teams are less than a
// second behind those of their members. No point of a member is missing or counted twice once
// they have caught up.
//
// Assumption: the store computes a team's score from the state alone, under the lock of the
// team, and moves its cursor only if nobody else has. So a process that loses its lease and
// continues does no harm.
//
// On failure: the next run continues from the same cursor. The age of the scores is a metric
// of every process with the role, so that it is also seen if no process computes them.
//
// # AuditSealer
//
// AuditSealer seals the audit trail.
//
// Promise: a committed row gets its seal within a second, unless a transaction that is
// older than the row is still running in PostgreSQL. The head of the chain is logged
// whenever it has moved, so that logs kept elsewhere prove what was in the trail.
//
// Assumption: the store seals one batch at a time. The lease only keeps idle processes
// from asking; two owners at once cost a wait for a lock and cannot fork the chain.
//
// Owner: Run works until its context ends, and releases the lease.
//
// On failure: a run that fails is repeated. Rows wait unsealed meanwhile, which
// "sbctl audit verify" and "sbctl doctor" show.
//
// # Moderation
//
// Moderation runs the background work of moderation: voids, erasures
// and the retention of addresses.
//
// Promise: a void completes even if the node that runs it dies. Its
// transactions are short, because they lock users. No failure of an event delays the
// void's other events, and no void delays another.
//
// Assumption: the store gives a void to one node at a time, by a claim. Expired data is deleted
// by one node, under a lease; a second one would find nothing.
//
// Owner: Moderation.Run, on every node with the role maintenance.
//
// On failure: the next node that claims the void continues it.
//
// # Runner
//
// Runner runs jobs at an interval, and work on request, each in one process at a time. A Job is
// one loop: it takes the lease, runs work when that is due or triggered, and reports its
// status and metrics.
//
// Promise: a process that dies or hangs holds up a job for about the TTL of its lease. Work that
// is made of transactions calls Keep before each; other long work has MaxRun, and the lease is
// renewed beside it. Work never runs twice at once in a process, and its context ends with
// the lease that is renewed beside it. Run returns soon after its context has ended, and
// releases the lease if the work has ended.
//
// Assumption: two processes may overlap, after one has paused and before it notices that its
// lease is gone. So the stores accept work of both: see each job.
//
// Owner: the component that has the job; its Run is that of the job.
//
// On failure: the next run continues. Metrics count it, and sbctl doctor shows it.
package upkeep
