package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
)

const tiersFlag = "tiers"

func addTiersFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().String(tiersFlag, "", usage)
}

// tiersOf returns the tiers of the flag; nil where it is not given.
func tiersOf(cmd *cobra.Command) (*[]client.Tier, error) {
	if !cmd.Flags().Changed(tiersFlag) {
		return nil, nil //nolint:nilnil // documented
	}
	text, err := cmd.Flags().GetString(tiersFlag)
	if err != nil {
		return nil, err
	}
	if text == "none" {
		return &[]client.Tier{}, nil
	}
	tiers, err := wire.ParseTiers(text)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return &tiers, nil
}

// tierCell is a user's tier; "" on a board without tiers.
func tierCell(place *client.Place) string {
	next := place.NextTier
	if next == nil {
		return place.Tier
	}
	cell := place.Tier
	if cell == "" {
		cell = "none"
	}
	if next.Points != 0 {
		return fmt.Sprintf("%s, %s to %s", cell, english.Count(next.Points, "point"), next.Name)
	}
	return fmt.Sprintf("%s, %s to %s", cell, english.Count(next.Ranks, "rank"), next.Name)
}
