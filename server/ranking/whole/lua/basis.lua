-- KEYS: meta, rank, users. Returns server, since, asof, built, marked, order; nil if the board is
-- not loaded.
return basis('order')
