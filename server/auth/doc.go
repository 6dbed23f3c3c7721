// Package auth says who asks and whether a request was signed: bearer tokens,
// the keys that requests are signed with, and the two signature schemes.
//
// Promise: an unknown key, a revoked one, a wrong signature and an old one get
// one and the same answer in the same time. Nothing secret is in an error.
package auth
