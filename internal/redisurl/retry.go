package redisurl

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// retryTryAgain repeats the commands of a pipeline that got TRYAGAIN: a slot is being
// moved, and some of the command's keys are on either server. The client repeats them
// itself only outside of pipelines, or at the beginning of one.
type retryTryAgain struct{ client *redis.ClusterClient }

// DialHook implements redis.Hook.
func (retryTryAgain) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (retryTryAgain) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (r retryTryAgain) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		if err == nil || len(commands) == 0 || commands[0].Name() == "multi" {
			return err
		}
		err = nil
		for _, c := range commands {
			if redis.HasErrorPrefix(c.Err(), "TRYAGAIN") {
				_ = r.client.Process(ctx, c) // its error is the command's
			}
			if err == nil {
				err = c.Err()
			}
		}
		return err
	}
}
