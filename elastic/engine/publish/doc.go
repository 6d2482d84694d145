// Package publish is the report that readers get: what the last cycle saw and decided, job by job.
//
// A Report is never changed after it was published, so that readers in any goroutine may keep it. The
// cycle's goroutine alone publishes: Publish at the end of a cycle, Blind where there is nothing new to
// see, Change and ChangeJobs for what came between two cycles. Last may be called by any.
package publish
