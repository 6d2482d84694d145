package policytest

import "github.com/sluice-hpc/sluice/elastic"

// AnySplit is a rule of placement as published simulators have it.
var AnySplit elastic.PlacementRule = anySplit{}

type anySplit struct{}

func (anySplit) AnySplit() bool    { return true }
func (anySplit) AtOnce() bool      { return true }
func (anySplit) AsPublished() bool { return true }

// Placement is AnySplit, or Slurm's rule, which is none.
func Placement(anySplit bool) elastic.PlacementRule {
	if anySplit {
		return AnySplit
	}
	return nil
}
