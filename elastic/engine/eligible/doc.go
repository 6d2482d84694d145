// Package eligible decides which jobs and GPUs a policy may use. It converts Slurm's limits,
// reservations, constraints and pools to caps, virtual partitions and reasons in a snapshot, so
// that policies need to know nothing else.
//
// Every result depends only on the arguments and the snapshot's time. Functions that take a
// *elastic.Snapshot change that snapshot's own jobs and nodes and nothing else.
//
// Each step uses the results of those before. For one snapshot they MUST be called in this order,
// as track does: Ordinary, PerNode, Refused, Caps, Spread, Choose, Restrict.
//
// Why in this order:
//
//   - Ordinary first: caps, demands and what is idle depend on what ordinary jobs hold and wait
//     for.
//   - PerNode before anything is placed: it lowers the CPUs of nodes.
//   - Refused BEFORE Caps: how long a refusal counts depends on whether GPUs are idle.
//   - Caps BEFORE Spread, which derives from them on how many nodes a job may be placed.
//   - Choose BEFORE Restrict: reservations and edge pools split the virtual partitions of
//     constraints further, never the other way round.
//
// Order needs none of them; it changes only priorities and places in the list of jobs. Reclaim comes
// AFTER Restrict, which says which jobs can start and where. Bar alone may be called again on a later
// copy of a snapshot, as forecasts do: it depends on the time.
//
// Virtual partitions exist in a snapshot only. Their names are those of Slurm's partition, "@" and
// what is left of it, as "gpu@gpu[1-2]" (constraint), "gpu@-maint" (reservation) and "lab@lab3" (edge
// pool); of several the parts are joined by "@". NodesAsInSlurm and DemandsAsInSlurm remove them from
// what users see. The lists of partitions of nodes are shared with Slurm's answer: code here MUST
// copy such a list BEFORE it appends to it.
package eligible
