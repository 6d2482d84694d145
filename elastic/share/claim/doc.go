// Package claim makes jobs claims on the shares of their accounts and users, and the division of
// the GPUs caps for a decision (elastic.Cap with Reclaims): so policies know no accounts.
package claim
