// Package publish makes the report for readers: what the last cycle observed and decided, job by job.
//
// A Report is not changed after it was published, so that readers in any goroutine may keep it. Only
// the cycle's goroutine publishes: Publish at the end of a cycle, Blind after a failed observation,
// Change and ChangeJobs for changes between two cycles. Any goroutine may call Last.
//
// The memory of a report that no reader has taken is used again by a later one. So
//
//   - a reader MUST get the report from Last, and may keep what it gets;
//   - the cycle's goroutine may read Board.Report directly, which takes nothing, and MUST NOT keep it
//     beyond the next Publish;
//   - a reader MUST NOT change anything that a report points to: others read it at the same time.
//
// Changes turns reports into a stream of events, ClusterOf and DivisionOf into history, and Sharing
// into the table of accounts. They read nothing but reports.
package publish
