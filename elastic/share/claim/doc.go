// Package claim makes jobs claims on the shares of their accounts and users, and the division of
// the GPUs caps for a decision (elastic.Cap with Reclaims): so policies know no accounts.
//
// A caller MUST do this for each decision, in this ORDER:
//
//  1. The snapshot is complete: limits on single jobs, partitions and open moves bound what a job
//     could use (Snapshot.Caps, Nodes, Intents).
//  2. Of divides the GPUs. After an error the Claims MUST NOT be used: there is no division.
//  3. Claims.Caps is appended to Snapshot.Caps. Their order is the order in which idle GPUs are lent.
//     Snapshot.Caps MUST NOT hold shares when Of is called again.
//  4. The policy is asked through policy.Policy.Decide, which applies the caps.
//
// All numbers are whole GPUs but Want.Credit, in GPU-seconds, and Claim.Worth, in GPUs of mean worth.
// Nothing here does I/O or reads a clock, and the snapshot is not changed.
package claim
