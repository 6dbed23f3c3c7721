// Package settings keeps the configuration in force: what was deployed, and over
// it what operators have changed at run time.
//
// Changes are stored in PostgreSQL with a version. Every node polls the store
// each PollInterval and applies a new version to its components; the node that
// took the change applies it before it answers. A change takes effect on every
// node within two seconds. While the store is down, everything stays as it is; a
// process that starts then accepts no token and is not ready, because the deployed
// settings may be those that operators have replaced.
//
// A stored setting that is invalid on one node, for example because another one is
// deployed differently there, is skipped there, and the others are applied. Status,
// /readyz and the doctor name it; the node is not ready if it is one of auth.
//
// A change is rejected as a whole if the configuration with it would be invalid,
// if its key set cannot be read, if its author's token would no longer be accepted
// (unless forced), or if a running relay, projector or mirror does not support its transport:
// neither a node nor an operator must be locked out by a change that was accepted.
package settings
