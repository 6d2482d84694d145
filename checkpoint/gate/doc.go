// Package gate decides which numbers of a confined job leave its fence, and counts them.
//
// Whatever a program writes into its progress log, what leaves is a line that the gate
// writes itself: known keys, numbers with 4 significant digits, at most one line a second,
// and never more bytes over the job's life than its fence allows. The count is in a ledger,
// which the caller MUST store durably BEFORE the line leaves.
//
// The ledger also gives the program's checkpoints other names outside: the program chooses
// its own, and they would be 26 bits each.
package gate
