package ranking

// Tags are the hash tags of the buckets of a cluster.
func Tags() []int { return tags[:] }
