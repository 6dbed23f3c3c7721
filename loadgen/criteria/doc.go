// Package criteria parses limits such as "api.p95 <= 200ms", and scenarios, which
// consist of a load and the limits that must hold under it. A scenario is checked
// completely before a run.
package criteria
