package elastic

// PlacementRule is how a cluster gives GPUs and makes moves where that is not as in Slurm.
// The daemon has none: only simulators of published systems hand one in.
type PlacementRule interface {
	// AnySplit reports whether exactly the split asked for is given, however uneven, its
	// shares in any order.
	AnySplit() bool
	// AtOnce reports whether all moves of a decision are made in one moment, so that jobs
	// can exchange GPUs.
	AtOnce() bool
	// AsPublished reports whether policies decide as they were published: without backfill,
	// and plans for deadlines without the cooldown and the cost of resizes.
	AsPublished() bool
}

// AnySplit reports whether a rule of placement gives any split; Slurm does not.
func (l Limits) AnySplit() bool { return l.Placement != nil && l.Placement.AnySplit() }

// AtOnce reports whether a rule of placement makes all moves in one moment; Slurm does not.
func (l Limits) AtOnce() bool { return l.Placement != nil && l.Placement.AtOnce() }

// AsPublished reports whether a rule of placement has policies decide as they were published.
func (l Limits) AsPublished() bool { return l.Placement != nil && l.Placement.AsPublished() }
