// Package report makes reports from what a run recorded: figures, verdicts,
// and their text, JSON, HTML and histogram forms. The run itself reports
// through it too, so a report made later says the same.
package report
