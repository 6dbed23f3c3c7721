package streams

import "context"

// Expire enforces the retention once.
func (t *Transport) Expire(ctx context.Context) error {
	for shard := range t.o.Shards {
		if err := t.expire(ctx, t.stream(shard)); err != nil {
			return err
		}
	}
	return nil
}

// The scripts that read entries, and that remove members without entries.
var ReadHash, TidyHash = readScript.Hash(), tidyScript.Hash()
