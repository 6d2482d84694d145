// Package offcycle keeps slow and hanging file systems and disks off the goroutine that
// decides. A Mailbox reads and writes jobs' folders beside the engine, in goroutines bounded
// in number, and waits for each only briefly; Samples stores speeds in a goroutine of its own.
package offcycle
