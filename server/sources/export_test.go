package sources

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// AfterCommand calls do after each command that is sent to Redis.
func (p *Podium) AfterCommand(do func()) { p.db.AddHook(afterCommand(do)) }

type afterCommand func()

func (afterCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (do afterCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer do()
		return next(ctx, cmd)
	}
}

func (afterCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
