// Package eligible decides which jobs and GPUs a policy may see. What Slurm showed, the site's
// limits and reservations, the jobs' constraints and the pools become caps, partitions and
// reasons in a snapshot, so that policies know none of them.
//
// Every function is one of its arguments and the snapshot's time: the same Look gives the same
// snapshot. Those that take a *elastic.Snapshot fill in that snapshot's own jobs and nodes and
// change nothing else.
//
// They build on one another. For one snapshot they MUST be called in this order, as track does:
// Ordinary, PerNode, Refused, Caps, Spread, Choose, Restrict.
package eligible
