// Package report makes reports from the entries of a record, as text, JSON, HTML
// and a histogram. A run uses it for its own report too, so that a report made
// later from the record is the same.
package report
