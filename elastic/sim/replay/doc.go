// Package replay runs a workload under a policy in rounds of virtual time: the
// snapshot, the decision with its stages (policy.Policy.Decide) and the placement are
// the daemon's own; Slurm is reduced to GPUs that change hands at the round and a
// restart that costs time, which is how published simulators of elastic clusters work.
// The whole protocol on a simulated Slurm is package whole's business.
package replay
