// Package policy decides how many GPUs each job gets: one table of the policies by name, and
// the stages that the answer of every policy passes. The policies themselves are in packages
// greedy and lookahead.
//
// A caller MUST use Policy.Decide, not Policy.Allocate: Decide asks the policy and applies the
// stages of this package in this ORDER, each to the answer of the one before it.
//
//  1. startable.go, caps.go: the policy is asked about the jobs that Slurm would start, within
//     the site's limits (Snapshot.Caps) and the shares of users, which are caps too
//     (reclaim.go); what is idle then is lent (lend.go). Its answer may make it be asked again.
//     Many shares are divided before it is asked (divide_shares.go, lend_few.go).
//  2. scavenge.go: where started jobs may be stopped (Limits.Preempt), scavengers are parked for
//     waiting jobs of others, before any other job is, and start after those. It asks the policy.
//  3. backfill.go: jobs start before a job that does not fit, if that cannot delay it.
//  4. profile.go: jobs whose speed is measured get the size to measure next.
//  5. vacate.go: jobs leave nodes of edge pools that other work needs.
//  6. depart.go: jobs leave drained nodes, and nodes with maintenance ahead.
//  7. leave.go: jobs leave nodes with unfit GPUs.
//
// Policies with deadlines are wrapped by pools.go, which tries jobs in other pools.
//
// A policy is a pure function from a Snapshot to an Allocation. It MUST NOT ask for what cannot
// be placed: it tries every size with plan.Arrange, the function that places the answer
// afterwards. It MUST be stable: asked again while nothing changes the cluster but its own
// moves, it stops moving jobs after a few rounds; otherwise jobs would be saved and restarted
// without end. It MUST keep started jobs at their minimum unless Limits.Preempt allows it to
// stop them. The tests of this package check all policies of the table for these properties on
// drawn clusters.
package policy
