package piece

import (
	_ "embed"
)

//go:embed lua/width.lua
var LuaWidth string

//go:embed lua/put.lua
var LuaPut string

//go:embed lua/counts.lua
var LuaCounts string

//go:embed lua/fill.lua
var luaFill string

//go:embed lua/swap.lua
var LuaSwap string

//go:embed lua/claim.lua
var luaClaim string

//go:embed lua/server.lua
var LuaServer string

//go:embed lua/trusted.lua
var LuaTrusted string

//go:embed lua/release.lua
var luaRelease string

//go:embed lua/states.lua
var luaStates string

//go:embed lua/repair.lua
var luaRepair string

//go:embed lua/search.lua
var LuaSearch string

//go:embed lua/ties.lua
var LuaTies string

//go:embed lua/orphans.lua
var luaOrphans string

//go:embed lua/fence.lua
var luaFence string

//go:embed lua/stamp.lua
var LuaStamp string

//go:embed lua/quiet.lua
var LuaQuiet string
