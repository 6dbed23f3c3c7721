package partitions

import (
	_ "embed"
)

//go:embed lua/part.lua
var luaPart string

//go:embed lua/top.lua
var luaTop string

//go:embed lua/merge.lua
var luaMerge string

//go:embed lua/divide.lua
var luaDivide string

//go:embed lua/begin.lua
var luaBegin string

//go:embed lua/reserve.lua
var luaReserve string

//go:embed lua/redirect.lua
var luaRedirect string

//go:embed lua/join.lua
var luaJoin string

//go:embed lua/discard.lua
var luaDiscard string

//go:embed lua/forget.lua
var luaForget string
