// Package forecast projects a cluster forward: it repeats the daemon's own decision on a snapshot, and lets
// jobs train and end in between, until every job has ended or a bound is reached.
//
// It is a projection of what is known now. It does not know of jobs that are still to be submitted, of
// failures, or of ordinary Slurm jobs beyond those that run, which end by their time limits. Moves are made
// at once and take their price; a job's old GPUs are free at the same moment. A job that has shown no
// checkpoint keeps its size. Shares, limits and
// reservations stay as they are now.
//
// A lane of a sweep leaves when its sweep's trials run out, each taken to be as long as those that ended
// were on average: the goal of a sweep, or trials that lose early, may end it sooner. Of a sweep of which
// no trial has ended nothing is known, and its lanes stay.
//
// How sure an expected end is, from 0 to 1, is a product:
//
//	the confidence of the job's speed curve in the shapes it will have (speed.Curve.Confidence), the mean
//	over the time it trains in each, but at least 0.1 where a speed is known at all
//	  (0.3 for a lane)
//	x 0.9 for every move of the job until then
//	x 0.5 for every 12 hours until then
//	x 0.5 once sizes are only kept, because a bound was reached
//
// A segment's is the same product up to its beginning. The expected end lies between Low and High: the
// time until then less, or more, by 5 % + 45 % of the lack of confidence + 5 % for every move, and High by
// as much again.
//
// A caller takes a snapshot and the decision that belongs to it, applies Change.In if it asks "what
// if", and calls Project, in any goroutine. Nothing of the snapshot is changed, so that one can be
// projected several times. Two projections are comparable only if they began from one snapshot.
//
// Between two decisions time passes to the next end of a job, a move, a cooldown, a block or an
// ordinary job, but at least Bounds.Every and 1/32 of the time projected so far. So ends that lie
// close together are one step, and far ahead a decision comes up to some 3 % late.
package forecast
