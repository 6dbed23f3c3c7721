// Package auth authenticates callers and verifies signatures: bearer tokens, join
// tickets, signing keys, action tokens and attestations.
//
// Promise: an unknown key, a revoked key, a wrong signature and an old one get the
// same answer in the same time. No error contains a secret.
package auth
