package replay

import "github.com/sluice-hpc/sluice/elastic"

// AnySplit is the rule of placement of published simulators: the cluster gives any split,
// and makes all moves of a round in one moment.
var AnySplit elastic.PlacementRule = anySplit{}

type anySplit struct{}

func (anySplit) AnySplit() bool    { return true }
func (anySplit) AtOnce() bool      { return true }
func (anySplit) AsPublished() bool { return true }
