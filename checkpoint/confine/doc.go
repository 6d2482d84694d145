// Package confine builds the fence around the programs of a confined job: what bubblewrap
// is told, the environment inside, and the system calls that are denied.
//
// The fence of one job is described by fence.json, which sluice-vaultd writes and
// `sluice run --fence` reads. All functions but Look and Possible are pure: the same
// fence, machine and environment give the same command line.
package confine
