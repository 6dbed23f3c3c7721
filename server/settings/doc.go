// Package settings keeps the configuration in force: what was deployed, and over
// it what operators have changed at run time.
//
// Changes are stored in PostgreSQL with a version. Every node polls the store
// each PollInterval and applies a new version to its components; the node that
// took the change applies it before it answers. A change takes effect on every
// node within two seconds. While the store is down, everything stays as it is.
//
// A change is rejected as a whole if the configuration with it would be invalid,
// if its key set cannot be read, or if a running relay or projector does not
// support its transport: a node must never be locked out by a change that it
// accepted.
package settings
