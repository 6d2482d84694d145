package replay

import "github.com/sluice-hpc/sluice/elastic"

// AnySplit is the rule of placement of published simulators: the cluster gives any split,
// and makes all moves of a round in one moment.
var AnySplit elastic.PlacementRule = anySplit{}

type anySplit struct{}

// AnySplit: published simulators count GPUs and let a job have any of each node.
func (anySplit) AnySplit() bool { return true }

// AtOnce: all moves of a round are made at one moment.
func (anySplit) AtOnce() bool { return true }

// AsPublished: they have no backfill, and plan deadlines without the cost of resizes.
func (anySplit) AsPublished() bool { return true }
