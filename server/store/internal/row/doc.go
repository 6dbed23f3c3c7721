// Package row reads and changes rows that several parts of the store share:
// boards, states of scores, receipts.
package row
