// Package offcycle keeps slow and hanging file systems, disks and databases off the goroutine
// that decides. A Mailbox reads and writes jobs' folders in a bounded number of goroutines, and
// waits for each only briefly. Samples stores speeds in its own goroutine, an Accountant
// queries slurmdbd in another, and a Limiter queries the site's limits in a third, and a Sharer the
// tree of shares in a fourth.
package offcycle
