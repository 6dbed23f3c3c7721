// Package criteria is a small language of limits, such as "api.p95 <= 200ms",
// and the scenarios that are made of it: what to play, and what must then hold.
// All of it is checked before anything is played.
package criteria
