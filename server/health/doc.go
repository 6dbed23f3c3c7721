// Package health tells what condition a node is in: whether it is ready for
// requests (Readiness), what an operator should fix (Doctor), and its current
// rates and counts (NodeStatus). It asks components through their Status
// methods; nothing here changes state.
package health
