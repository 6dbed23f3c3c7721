package client

import (
	"net/url"
	"strconv"
	"time"
)

// boardQuery is the query of a board; the server's default board when empty.
func boardQuery(board string) url.Values {
	query := url.Values{}
	setText(query, "board", board)
	return query
}

// The functions below leave out zero values, which stand for the server's defaults.

func setText(query url.Values, name, text string) {
	if text != "" {
		query.Set(name, text)
	}
}

func setInt(query url.Values, name string, n int64) {
	if n != 0 {
		query.Set(name, strconv.FormatInt(n, 10))
	}
}

func setTime(query url.Values, name string, t time.Time) {
	if !t.IsZero() {
		query.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}
