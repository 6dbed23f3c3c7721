package scoreboard

import "slices"

// MaxTags is the maximum number of tags of a board.
const MaxTags = 10

// Labels are what lists of boards are filtered by. They have no effect on scores.
type Labels struct {
	Region, Platform string   // such as eu and pc; empty: none
	Tags             []string // sorted
}

// Check validates labels. It returns an invalid_request.
func (l *Labels) Check() error {
	if err := checkLabel("region", l.Region); err != nil {
		return err
	}
	if err := checkLabel("platform", l.Platform); err != nil {
		return err
	}
	return checkTags(l.Tags)
}

func checkLabel(field, label string) error {
	if label != "" && !isBoardName(label) {
		return Invalid(field, "%s must match [a-z0-9][a-z0-9_.-]{0,47}", field)
	}
	return nil
}

func checkTags(tags []string) error {
	if len(tags) > MaxTags {
		return Invalid("tags", "a board has at most %d tags", MaxTags)
	}
	for i, tag := range tags {
		if !isBoardName(tag) {
			return Invalid("tags", "a tag must match [a-z0-9][a-z0-9_.-]{0,47}")
		}
		if slices.Contains(tags[:i], tag) {
			return Invalid("tags", "duplicate tag %s", tag)
		}
	}
	return nil
}

// BoardChange is a change of a board. What is nil stays as it is.
type BoardChange struct {
	Require          *Requirements
	Region, Platform *string // empty: none
	Tags             *[]string
	Partitions       *int
	Bounds           *BoundsChange
	Tiers            *Tiers // empty: none
	Metadata         *MetadataOf
	Join             *JoinChange
	Appearance       *AppearanceChange
}

// Check validates the labels, tiers and partitions of a change, and normalises its appearance. It returns an
// invalid_request.
func (c *BoardChange) Check() error {
	var l Labels
	if c.Region != nil {
		l.Region = *c.Region
	}
	if c.Platform != nil {
		l.Platform = *c.Platform
	}
	if c.Tags != nil {
		l.Tags = *c.Tags
	}
	if c.Tiers != nil {
		if err := c.Tiers.Check(); err != nil {
			return err
		}
	}
	if c.Partitions != nil {
		if err := CheckPartitions(*c.Partitions); err != nil {
			return err
		}
	}
	if c.Appearance != nil {
		if err := c.Appearance.Normalize(); err != nil {
			return err
		}
	}
	return l.Check()
}
