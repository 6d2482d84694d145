// Package offcycle keeps slow and hanging file systems, disks and databases off the goroutine
// that decides. A Mailbox reads and writes jobs' folders beside the engine, in goroutines bounded
// in number, and waits for each only briefly; Samples stores speeds in a goroutine of its own, an
// Accountant asks slurmdbd in another, and a Limiter asks for the site's limits in a third.
package offcycle
