package whole

import (
	_ "embed"
)

//go:embed lua/basis.lua
var luaBasis string

//go:embed lua/top.lua
var luaTop string

//go:embed lua/place.lua
var luaPlace string

//go:embed lua/page.lua
var luaPage string

//go:embed lua/list.lua
var luaList string

//go:embed lua/ranks.lua
var luaRanks string
