// Package config holds every setting of the daemon: its name, meaning, default
// and valid values, in one struct per component. A value comes from a flag, else
// from an environment variable, else from the file, else from the default;
// Values reports which.
//
// The setting postgres.url is the flag --postgres-url, the variable
// SCOREBOARD_POSTGRES_URL and the line "postgres.url: …" of the file.
//
// A component's file has its struct, its rows of the settings table and its
// check. Checks collect problems instead of returning the first one: Load
// reports every invalid setting at once, sorted by name.
//
// Manager keeps the configuration in force: what was deployed, and over it what operators
// have changed at run time. Changes are stored in PostgreSQL with a version. Every node polls
// the store each PollInterval and applies a new version to its components; the node that took
// the change applies it before it answers. A change takes effect on every node within two
// seconds. While the store is down, everything stays as it is; a process that starts then
// accepts no token and is not ready, because the deployed settings may be those that
// operators have replaced.
//
// A stored setting that is invalid on one node, for example because another one is deployed
// differently there, is skipped there, and the others are applied. Status, /readyz and the
// doctor name it; the node is not ready if it is one of auth.
//
// A change is rejected as a whole if the configuration with it would be invalid, if its key
// set cannot be read, if its author's token would no longer be accepted (unless forced), or
// if a running relay, projector or mirror does not support its transport: neither a node nor
// an operator must be locked out by a change that was accepted.
package config
