// Package publish makes the report for readers: what the last cycle observed and decided, job by job.
//
// A Report is not changed after it was published, so that readers in any goroutine may keep it. Only
// the cycle's goroutine publishes: Publish at the end of a cycle, Blind after a failed observation,
// Change and ChangeJobs for changes between two cycles. Any goroutine may call Last.
package publish
