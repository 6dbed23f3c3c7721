// Package profile caches display names and avatars on each node and adds them to
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
package profile
