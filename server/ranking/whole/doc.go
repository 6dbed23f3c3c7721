// Package whole reads and repairs boards in one piece: one script answers each read.
package whole
