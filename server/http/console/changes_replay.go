package console

import (
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What a replay starts from.
const (
	replayTime    = "a time"
	replayOffset  = "an offset"
	replayLetters = "the dead letters"
)

// replayChange applies retained events or dead letters again.
func replayChange() *change {
	return &change{
		name: "replay", title: "Replay events", verb: "Start replay", section: "jobs", job: true,
		action: "ranking.replay", intro: "Applies events that the transport still retains, or dead letters, again.",
		done: "The replay has started.",
		fields: []field{
			{Name: "start", Label: "From", Kind: "choice", Options: []string{replayTime, replayOffset, replayLetters}},
			{Name: "from", Label: "Time", Kind: "time", Hint: "Such as 2026-11-21T10:00:00Z"},
			{Name: "offset", Label: "Offset", Kind: "number", Hint: "The first offset of the partition."},
			{
				Name: "partition", Label: "Partition", Kind: "number",
				Hint: "All partitions if empty; required with an offset.",
			},
			{Name: "topic", Label: "Topic", Kind: "text", Hint: "The topic of the current transport if empty."},
		},
		effect: func(url.Values) string {
			return "Events that the ranking already has change nothing, so a replay can be repeated " +
				"and can run during " +
				"live traffic. Events so old that a repeat would not be recognised are not replayed."
		},
		dryRun: func(k *call, v url.Values) ([]fact, error) {
			body, err := replayBody(v)
			if err != nil {
				return nil, err
			}
			body.DryRun = true
			line, err := k.last("ranking.replay", request{body: body})
			if err != nil || line.Replayed == nil {
				return nil, err
			}
			return replayedFacts(line.Replayed), nil
		},
		command: replayCommand,
		request: func(v url.Values) (request, error) {
			body, err := replayBody(v)
			return request{query: reasonQuery(v), body: body}, err
		},
		back: func(url.Values) string { return Root + "/jobs" },
	}
}

func replayCommand(v url.Values) []string {
	words := []string{"replay"}
	switch v.Get("start") {
	case replayOffset:
		words = append(words, "--from-offset", v.Get("offset"))
	case replayLetters:
		words = append(words, "--dlq")
	default:
		words = append(words, "--from-time", v.Get("from"))
	}
	if v.Get("partition") != "" {
		words = append(words, "--partition", v.Get("partition"))
	}
	if v.Get("topic") != "" {
		words = append(words, "--topic", v.Get("topic"))
	}
	return words
}

func replayBody(v url.Values) (body wire.ReplayRequest, err error) {
	body.Topic = v.Get("topic")
	if v.Get("partition") != "" {
		n, err := integer(v, "partition", "Partition")
		if err != nil {
			return body, err
		}
		partition, err := strconv.Atoi(strconv.FormatInt(n, 10))
		if err != nil {
			return body, err
		}
		body.Partition = &partition
	}
	switch v.Get("start") {
	case replayOffset:
		n, err := integer(v, "offset", "Offset")
		if err != nil {
			return body, err
		}
		body.FromOffset = &n
	case replayLetters:
		body.DLQ = true
	default:
		at, err := scoreboard.ParseTime(v.Get("from"))
		if err != nil {
			return body, badTime("from", "Time")
		}
		body.FromTime = &at
	}
	return body, nil
}
