// Package health reports the condition of a node: whether it is ready for
// requests (Readiness), what an operator should fix (Doctor), and its current
// rates and counts (NodeStatus). It asks components through their Status
// methods; nothing here changes state.
package health
