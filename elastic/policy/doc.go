// Package policy decides how many GPUs each job gets: one table of the policies by name, and
// the stages that the answer of every policy passes. The policies themselves are in packages
// greedy and lookahead.
//
// A caller MUST use Policy.Decide, not Policy.Allocate: Decide asks the policy and applies the
// stages of this package in this ORDER. Stage 1 is around all others: each question that it asks is
// answered by stages 2 to 8, each of which gets the answer of the one before it (a question about few
// jobs, to which idle GPUs are lent, without 3 and 4; none is asked while a lane waits).
//
//  1. startable.go, caps.go: the policy is asked about the jobs that Slurm would start, within
//     the site's limits (Snapshot.Caps) and the shares of users, which are caps too
//     (reclaim.go); what is idle then is lent (lend.go). Its answer may make it be asked again.
//     Many shares are divided before it is asked (divide_shares.go, lend_few.go).
//  2. scavenge.go: where started jobs may be stopped (Limits.Preempt), scavengers are parked for
//     waiting jobs of others, before any other job is, and start after those. It asks the policy.
//  3. lanes.go: further lanes of sweeps come after all other jobs, and give way to them. It asks
//     stage 2. Not under a rigid policy, which treats lanes as other jobs.
//  4. backfill.go: jobs start before a job that does not fit, if that cannot delay it. Not under
//     policies that stop jobs (Policy.Stops).
//  5. profile.go: jobs whose speed is measured get the size to measure next. Not under a rigid policy.
//  6. vacate.go: jobs leave nodes of edge pools that other work needs.
//  7. depart.go: jobs leave drained nodes, and nodes with maintenance ahead.
//  8. leave.go: jobs leave nodes with unfit GPUs. Not under a rigid policy.
//
// Stages 5 to 8 change the decision of the job that they move, and only if every other job then gets as
// many GPUs as before (depart may withhold the growth of others), or if the job only saves and waits.
//
// The policies lookahead, annealing and deadline are wrapped by pools.go, which tries jobs in other
// pools. Where partitions have policies of their own (ByPartition), stages 2 to 8 are applied by each
// of them to its own jobs, and stage 1 to all together.
//
// A caller MUST complete the snapshot BEFORE it calls Decide: first limits, partitions and begin times
// (package eligible), then the shares (claim.Claims.Caps), which are a part of Snapshot.Caps. AFTER it
// plan.Arrange gives the sizes their nodes, and plan.Reconcile says which moves open now. No stage
// changes the snapshot: what it changes it copies first. The Allocation belongs to the caller. Decide
// reads no clock and no file, and the same snapshot gives the same answer.
//
// A policy is a pure function from a Snapshot to an Allocation. It MUST NOT ask for what cannot
// be placed: it tries every size with plan.Arrange, the function that places the answer
// afterwards. It MUST be stable: asked again while nothing changes the cluster but its own
// moves, it stops moving jobs after a few rounds; otherwise jobs would be saved and restarted
// without end. It MUST keep started jobs at their minimum unless Limits.Preempt allows it to
// stop them. The tests of this package check all policies of the table for these properties on
// drawn clusters. Each Decision MUST have a reason (Decision.Why).
//
// Most decisions cost one answer of the policy. More are asked for where jobs exceed a limit or a share
// (questions), where GPUs are lent (lendings), where scavengers or lanes exist, and where a job could
// go to another pool (attempts). These factors multiply.
package policy
