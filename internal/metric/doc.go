// Package metric has two kinds of metrics that several components use: Calls measures the calls
// to a backend, and Expiring is a gauge whose values expire. A gauge that is set by a measurement
// keeps its last value while the measured backend is down, and an alert on it stays silent. An
// Expiring is absent then, which an alert can see.
package metric
