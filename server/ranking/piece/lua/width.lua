-- A member of the sorted set, and a state, begin with 8 bytes of reached_at. On a board with
-- subscores 8 bytes of the subscore's key come before those: big-endian, with the sign bit
-- flipped, so that their order is that of the keys. The order of such a board has two words,
-- that of the scores and that of the subscores.
local width = 8

-- measure sets the length of that prefix, by the order of the board that a script is about to use.
local function measure(order)
    width = order and string.find(order, ' ', 1, true) and 16 or 8
end

-- widen returns a prefix as the board has it: without a subscore's key it is of subscore 0. It
-- is nil where the prefix has one and the board has none: it is not as it was built.
local function widen(prefix)
    if #prefix > width then
        return nil
    end
    return #prefix < width and '\128\0\0\0\0\0\0\0' .. prefix or prefix
end
