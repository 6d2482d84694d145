// Package eligible decides which jobs and GPUs a policy may use. It converts Slurm's limits,
// reservations, constraints and pools to caps, virtual partitions and reasons in a snapshot, so
// that policies need to know nothing else.
//
// Every result depends only on the arguments and the snapshot's time. Functions that take a
// *elastic.Snapshot change that snapshot's own jobs and nodes and nothing else.
//
// Each step uses the results of those before. For one snapshot they MUST be called in this order,
// as track does: Ordinary, PerNode, Refused, Caps, Spread, Choose, Restrict.
package eligible
