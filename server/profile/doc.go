// Package profile puts names and avatars beside scores, from this node's memory.
//
// Promise: showing a row never waits longer than a moment for a name, and costs
// nothing while nobody has one. A change is shown by every node within seconds;
// by the one that took it, at once.
//
// Owner: Run asks the store each second what was changed, and loads what rows
// needed that could not wait.
//
// On failure: rows are shown with the names that are known here.
package profile
