package scoreboard

import (
	"fmt"
	"time"
)

// AnomalyMode is what happens to an anomalous event.
type AnomalyMode string

const (
	AnomalyOff     AnomalyMode = "off"
	AnomalyLog     AnomalyMode = "log"     // it counts and is logged
	AnomalyFlag    AnomalyMode = "flag"    // it counts and is flagged for review
	AnomalyEnforce AnomalyMode = "enforce" // it is rejected and flagged for review
)

// AnomalyRules are the names of the rules.
var AnomalyRules = []string{ruleSize, ruleFrequency, ruleAmount, ruleTravel}

const (
	ruleSize      = "size"
	ruleFrequency = "frequency"
	ruleAmount    = "amount"
	ruleTravel    = "travel"
)

// Anomalies are the rules that compare an event with its user's earlier events.
// They read at most the last AnomalyEvents events of a day, on all their boards.
type Anomalies struct {
	Size         AnomalyMode
	SizeFactor   int64
	Frequency    AnomalyMode
	MaxEvents    Quota
	Amount       AnomalyMode
	MaxPoints    Quota
	Travel       AnomalyMode
	TravelWindow time.Duration
}

const (
	// AnomalyEvents is the maximum number of events of a user that are read.
	AnomalyEvents = 1000
	// sizeSamples is the minimum number of earlier events of a user before one
	// can be oversized; sizeRows is how many of the last it is compared with.
	sizeSamples = 5
	sizeRows    = 50
)

// Off reports whether all rules are off.
func (a *Anomalies) Off() bool {
	off := func(m AnomalyMode) bool { return m == "" || m == AnomalyOff }
	return off(a.Size) && off(a.Frequency) && off(a.Amount) && off(a.Travel)
}

// Events returns how many events of a user the rules need, and how far back.
func (a *Anomalies) Events() (n int64, window time.Duration) {
	n, window = sizeRows, 24*time.Hour
	if a.Frequency != AnomalyOff {
		n, window = max(n, a.MaxEvents.N), max(window, a.MaxEvents.Per)
	}
	if a.Amount != AnomalyOff {
		n, window = AnomalyEvents, max(window, a.MaxPoints.Per)
	}
	if a.Travel != AnomalyOff {
		window = max(window, a.TravelWindow)
	}
	return min(n, AnomalyEvents), window
}

// PastRow is a row of a user's ledger as anomaly detection reads it.
type PastRow struct {
	Event   [16]byte
	Board   BoardID
	Delta   int64
	Applied int64
	At      time.Time
	Country string
}

// Anomaly describes an anomalous event.
type Anomaly struct {
	Rule   string // size, frequency, amount or travel
	Mode   AnomalyMode
	User   UserID
	Event  EventID
	Board  BoardID
	Delta  int64
	Detail string
}

// Detect returns the anomalies of an event that would apply these amounts to its
// boards, given the user's past rows, newest first.
func (a *Anomalies) Detect(
	in *Increment,
	boards []BoardID,
	applied []int64,
	at time.Time,
	past []PastRow,
) (found []Anomaly) {
	add := func(rule string, mode AnomalyMode, board BoardID, format string, args ...any) {
		if mode != "" && mode != AnomalyOff {
			found = append(found, Anomaly{rule, mode, in.User, in.Event, board, in.Delta, fmt.Sprintf(format, args...)})
		}
	}
	for _, board := range boards {
		if largest, samples := a.largest(board, past); samples >= sizeSamples &&
			float64(magnitude(in.Delta)) > float64(largest)*float64(a.SizeFactor) {
			add(ruleSize, a.Size, board, "delta %d, the largest of the last %d was %d", in.Delta, samples, largest)
			break
		}
	}
	events := make(map[[16]byte]bool)
	for i := range past {
		if at.Sub(past[i].At) < a.MaxEvents.Per {
			events[past[i].Event] = true
		}
	}
	if int64(len(events)) >= a.MaxEvents.N {
		add(ruleFrequency, a.Frequency, boards[0], "%d events in %s before it", len(events), a.MaxEvents.Per)
	}
	for i, board := range boards {
		sum := applied[i]
		for j := range past {
			if past[j].Board == board && at.Sub(past[j].At) < a.MaxPoints.Per {
				sum += past[j].Applied
			}
		}
		if sum > a.MaxPoints.N {
			add(ruleAmount, a.Amount, board, "%d points in %s", sum, a.MaxPoints.Per)
			break
		}
	}
	for i := range past {
		if past[i].Country == "" || in.Country == "" {
			continue
		}
		if age := at.Sub(past[i].At); past[i].Country != in.Country && age < a.TravelWindow {
			add(ruleTravel, a.Travel, boards[0], "%s, %s after %s", in.Country, age.Round(time.Second), past[i].Country)
		}
		break // only the latest country counts
	}
	return found
}

// largest returns the largest delta among the last of a user on a board.
func (a *Anomalies) largest(board BoardID, past []PastRow) (largest int64, samples int) {
	for i := range past {
		if past[i].Board != board || samples == sizeRows {
			continue
		}
		samples++
		largest = max(largest, magnitude(past[i].Delta))
	}
	return largest, samples
}

func magnitude(n int64) int64 { return max(n, -n) }

// Flag is an anomaly to be reviewed. Further violations of the same rule by the
// same user meanwhile are counted in Times.
type Flag struct {
	Anomaly
	ID        int64
	State     string // open, dismissed or confirmed
	Times     int64
	CreatedAt time.Time
	LastAt    time.Time
	DecidedBy UserID
	DecidedAt time.Time
	Reason    string
}
