// Package users stores what belongs to a user beside scores.
//
// Privacy exports and erases what is stored about a user, and removes
// addresses after their retention.
//
// Friends stores which users are friends of each other.
//
// Profiles stores users' display names and avatars.
//
// Teams stores the memberships of teams, and computes the scores of teams from
// those of their members. A user is in at most one team of a board at a time. The score that
// counts at the start and the end of a membership is exact, because it is read under the
// user's lock. A team's score is what its members had in one snapshot, which was taken under
// the lock of the team: computed twice, or by two processes, it is the same, and recorded
// once. It assumes that every change of a score has a row in the outbox, and that no row
// appears below the oldest running transaction. A pass that was interrupted is repeated from
// the same cursor. After a minute without a pass, all teams are compared with their members.
//
// Visibility stores to whom users are visible on boards.
package users
