package piece

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ClaimTTL is how long a shadow lives after the last call of its rebuild, so that an
// interrupted rebuild leaves nothing behind.
const ClaimTTL = 15 * time.Second

// ShadowScripts are scripts for the shadow of a board, or of a partition of one.
type ShadowScripts struct{ Claim, Fill, Fence, Release *redis.Script }

// NewShadowScripts returns the scripts.
func NewShadowScripts() ShadowScripts {
	return ShadowScripts{
		Claim:   redis.NewScript(LuaServer + LuaStamp + luaClaim),
		Fill:    redis.NewScript(LuaWidth + LuaPut + luaFill),
		Fence:   redis.NewScript(LuaStamp + luaFence),
		Release: redis.NewScript(luaRelease),
	}
}

var (
	ErrClaimLost = Unavailable("the rebuild was interrupted; start it again",
		errors.New("the shadow belongs to another rebuild or has expired"))
	ErrShadowShort = Unavailable("the rebuild was interrupted; start it again",
		errors.New("the shadow has lost users"))
	errEpochLow = Unavailable("another rebuild was faster; start it again",
		errors.New("the epoch is not greater than the live board's"))
)

// SwapError is the error that a swap's negative result means.
func SwapError(n int64) error {
	switch {
	case n >= 0:
		return nil
	case n == -1:
		return ErrClaimLost
	case n == -2:
		return ErrShadowShort
	}
	return errEpochLow
}

// Swapped reads what swap.lua returned: the number of ranked users.
func Swapped(answer *redis.Cmd) (int64, error) {
	n, err := answer.Int64()
	if err == nil {
		err = SwapError(n)
	}
	return n, err
}

// SwapArguments are those of swap.lua for a board, or for a partition of it, which must have
// a minimum of users.
func SwapArguments(
	board *scoreboard.Board, name scoreboard.BoardID, token string, s *scoreboard.Snapshot, minimum int64,
) []any {
	return []any{
		token, Channel, string(name), s.Epoch, s.UpdatedAt.UnixMicro(), OrdersOf(board).String(), minimum,
		time.Now().UnixMicro(), s.AsOf.UnixMicro(),
	}
}
