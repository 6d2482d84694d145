package policytest

import "github.com/sluice-hpc/sluice/elastic"

// AnySplit is the placement rule of published simulators: any split, all moves at once,
// policies as published.
var AnySplit elastic.PlacementRule = anySplit{}

type anySplit struct{}

// AnySplit implements elastic.PlacementRule.
func (anySplit) AnySplit() bool { return true }

// AtOnce implements elastic.PlacementRule.
func (anySplit) AtOnce() bool { return true }

// AsPublished implements elastic.PlacementRule.
func (anySplit) AsPublished() bool { return true }

// Placement returns AnySplit, or nil, which is Slurm's rule.
func Placement(anySplit bool) elastic.PlacementRule {
	if anySplit {
		return AnySplit
	}
	return nil
}
