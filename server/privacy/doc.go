// Package privacy hides users in what is shown to others.
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
package privacy
