package elastic

// PlacementRule is how a cluster allocates GPUs and makes moves, if not as Slurm does. The
// daemon has none; only simulators of published systems pass one.
type PlacementRule interface {
	// AnySplit reports whether exactly the requested split is allocated, however uneven, with
	// its shares in any order.
	AnySplit() bool
	// AtOnce reports whether all moves of a decision are made at the same moment, so that jobs
	// can exchange GPUs.
	AtOnce() bool
	// AsPublished reports whether policies decide as they were published: without backfill, and
	// with deadlines planned without the cooldown and the cost of resizes.
	AsPublished() bool
}

// AnySplit reports whether the placement rule allows any split; Slurm does not.
func (l Limits) AnySplit() bool { return l.Placement != nil && l.Placement.AnySplit() }

// AtOnce reports whether the placement rule makes all moves at one moment; Slurm does not.
func (l Limits) AtOnce() bool { return l.Placement != nil && l.Placement.AtOnce() }

// AsPublished reports whether the placement rule makes policies decide as they were published.
func (l Limits) AsPublished() bool { return l.Placement != nil && l.Placement.AsPublished() }
