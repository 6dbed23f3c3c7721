// Package row reads and changes rows that several packages of the store share:
// boards, states of scores, receipts.
package row
