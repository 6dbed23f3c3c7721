// Package display decides how users are shown to others: hidden users under pseudonyms,
// others with their names and avatars.
//
// Hidden holds the hidden users.
//
// Promise. A row of a user who is hidden has a pseudonym for an id, and no profile. A change
// holds at once on the node that stored it, and within a second on the others. While no user
// is hidden, a row costs nothing.
//
// Assumption. The list of hidden users is complete and fits into memory: about 300 bytes
// each, and as many for each family of boards on which the node shows the user.
//
// Owner. Run polls the store for changes, and reads the whole list every few minutes, which
// finds what a poll has missed.
//
// On failure. The last list holds while the store does not answer. Before there is one,
// everyone is hidden.
//
// Profiles caches display names and avatars on each node and adds them to
// rows.
//
// Promise. A row never waits longer than a moment for a profile, and costs nothing
// while no user has one. A change appears on every node within seconds, and at
// once on the node that stored it.
//
// Owner. Run polls the store each second for changes, and loads the profiles that
// rows did not wait for.
//
// On failure. Rows have the profiles that are cached.
package display
