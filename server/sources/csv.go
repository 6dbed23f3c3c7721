package sources

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// byteOrderMark is what some editors write before UTF-8.
const byteOrderMark = "\uFEFF"

// CSV reads a file whose header names the columns user_id and score, and may name subscore, among others
// that it does not read, such as those of an exported board. Its order is that of the lines. Errors name the
// line.
func CSV(from io.Reader) ([]scoreboard.ImportRecord, error) {
	in := bufio.NewReader(from)
	if mark, _ := in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it is buffered
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; want a header with user_id and score")
	}
	if err != nil {
		return nil, err
	}
	userAt, scoreAt := slices.Index(header, "user_id"), slices.Index(header, "score")
	subscoreAt := slices.Index(header, "subscore") // -1: there is none
	if userAt < 0 || scoreAt < 0 {
		return nil, fmt.Errorf("line 1: got the header %q, want the columns user_id and score",
			strings.Join(header, ","))
	}
	var records []scoreboard.ImportRecord
	lines := make(map[scoreboard.UserID]int)
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		line, _ := rows.FieldPos(0)
		score, err := strconv.ParseInt(row[scoreAt], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", line, row[scoreAt], errScore)
		}
		var subscore int64
		if subscoreAt >= 0 && row[subscoreAt] != "" {
			if subscore, err = strconv.ParseInt(row[subscoreAt], 10, 64); err != nil {
				return nil, fmt.Errorf("line %d: %q: %w", line, row[subscoreAt], errSubscore)
			}
		}
		r, err := checked(row[userAt], score, subscore)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if first := lines[r.User]; first > 0 {
			return nil, fmt.Errorf("line %d: user %s is on line %d, too", line, r.User, first)
		}
		if len(records) == MaxRecords {
			return nil, errTooMany
		}
		r.User = scoreboard.UserID(strings.Clone(string(r.User))) // not the whole line
		lines[r.User] = line
		records = append(records, r)
	}
}
